"""Small clusters and queues, drawn so that a test reads like a picture."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

import numpy as np

from scheduler.core.board import Board
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Node, Request, Running, Seat, Share, Snapshot, Team, Tier

NOW = datetime(2026, 11, 18, 14, 25, tzinfo=UTC).timestamp()
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
VISION = Team("vision")
WISHES = {each.name for each in fields(Request)}


@dataclass(frozen=True)
class Spot:
    """A node and its slots: a dot is free, anything else is taken; a letter may name the run that holds it."""

    node: Node
    slots: str


def spot(name: str, slots: str = "........", *, links: str = "", **where: object) -> Spot:
    """`links` names the NVLink domain of each slot, "-" is no GPU; without it the node is one domain."""
    place = {"cluster": "north", "pool": "training", "block": "b1", "rack": "r1", "gpu_type": "H100"}
    nvlink = tuple(-1 if link == "-" else int(link) for link in links or "0" * len(slots))
    fixed: dict[str, object] = {"id": 0, "name": name, "nvlink": nvlink, "usable": not where.get("why_not")}
    return Spot(Node(**(place | fixed | where)), slots)  # type: ignore[arg-type]


def racks(**nodes: list[str]) -> list[Spot]:
    """Nodes by rack, named r1-1 and so on; r1 and r2 stand in block b1, r3 and r4 in b2, and so on."""
    return [
        spot(f"{rack}-{number}", slots, rack=rack, block=f"b{(int(rack[1:]) + 1) // 2}")
        for rack, found in nodes.items()
        for number, slots in enumerate(found, start=1)
    ]


def numbered(spots: Iterable[Spot]) -> tuple[Node, ...]:
    """The nodes, numbered from 1 in the order given."""
    return tuple(replace(one.node, id=number) for number, one in enumerate(spots, start=1))


def free_slots(spots: Iterable[Spot]) -> np.ndarray:
    """The dots as a matrix."""
    rows = [one.slots for one in spots]
    free = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=bool)
    for row, slots in enumerate(rows):
        free[row, : len(slots)] = [slot == "." for slot in slots]
    return free


def board(spots: Iterable[Spot]) -> Board:
    """The drawn cluster as scratch paper."""
    spots = tuple(spots)
    return Board(Layout(numbered(spots)), free_slots(spots))


def snapshot(
    spots: Iterable[Spot],
    waiting: Iterable[Job] = (),
    running: Iterable[Running] = (),
    teams: Iterable[Team] = (VISION,),
    **more: object,
) -> Snapshot:
    """Nodes are numbered from 1 in the order given."""
    spots = tuple(spots)
    known = (NOW, numbered(spots), free_slots(spots), tuple(waiting), tuple(running), tuple(teams))
    return Snapshot(*known, **more)  # type: ignore[arg-type]


def request(shape: str = "1x8", gpu_type: str = "H100", **asked: object) -> Request:
    """`shape` is nodes x GPUs on each, or GPUs alone; types in order of preference stand between bars."""
    nodes, _, gpus = shape.rpartition("x")
    many = int(nodes or 0)
    types = tuple(gpu_type.split("|")) if gpu_type else ()
    told = {"gpus": (many or 1) * int(gpus), "nodes": many, "gpu_types": types}
    return Request(**(told | asked))  # type: ignore[arg-type]


def job(number: int, shape: str = "1x8", gpu_type: str = "H100", **asked: object) -> Job:
    """What a request knows goes there; jobs come in the order of their numbers, a minute apart."""
    wishes = {name: value for name, value in asked.items() if name in WISHES}
    rest = {name: value for name, value in asked.items() if name not in WISHES}
    known: dict[str, object] = {"version": 1, "team": "vision", "user": "mira", "tier": Tier.STANDARD}
    known["submitted_at"] = NOW - DAY + number * MINUTE
    known["request"] = request(shape, gpu_type, **wishes)
    return Job(id=number, **(known | rest))  # type: ignore[arg-type]


def seat(node: int, slots: str = "01234567") -> Seat:
    """A node by its number, and slots by their digits."""
    return Seat(node, tuple(int(slot) for slot in slots))


def drawn(spots: Iterable[Spot], letter: str) -> tuple[Seat, ...]:
    """The seats that carry this letter in the picture."""
    found = (
        Seat(number, tuple(slot for slot, mark in enumerate(one.slots) if mark == letter))
        for number, one in enumerate(spots, start=1)
    )
    return tuple(seat for seat in found if seat.slots)


def run(number: int, seats: Iterable[Seat], ends_in_min: float | None = None, **held: object) -> Running:
    """A run on these seats since an hour, with or without a limit; its request is what it holds."""
    seats = tuple(seats)
    gpus = sum(len(seat.slots) for seat in seats)
    known: dict[str, object] = {"team": "vision", "user": "mira", "tier": Tier.STANDARD, "gpu_type": "H100"}
    known |= {"started_at": NOW - HOUR, "submitted_at": NOW - 2 * DAY, "request": Request(gpus)}
    known["ends_by"] = None if ends_in_min is None else NOW + ends_in_min * MINUTE
    return Running(job=number, seats=seats, **(known | held))  # type: ignore[arg-type]


def tree(*lines: tuple[str, str | None, dict[str, int | Share]]) -> tuple[Team, ...]:
    """Teams as (name, team above, quota by type: nominal alone, or a whole share)."""
    return tuple(
        Team(name, above, {kind: Share(one) if isinstance(one, int) else one for kind, one in quota.items()})
        for name, above, quota in lines
    )
