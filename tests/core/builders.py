"""Small clusters and queues, drawn so that a test reads like a picture."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from scheduler.core.model import Job, Node, Running, Snapshot, Team, Tier

NOW = datetime(2026, 11, 18, 14, 25, tzinfo=UTC)
VISION = Team("vision")


@dataclass(frozen=True)
class Spot:
    """A node and its slots: a dot is free, anything else is taken."""

    node: Node
    slots: str


def spot(name: str, slots: str = "........", *, links: str = "", **where: str) -> Spot:
    """`links` names the NVLink domain of each slot, "-" is no GPU; without it the node is one domain."""
    place = {"cluster": "north", "pool": "training", "block": "b1", "rack": "r1", "gpu_type": "H100"}
    why_not = where.pop("why_not", "")
    nvlink = tuple(-1 if link == "-" else int(link) for link in links or "0" * len(slots))
    node = Node(id=0, name=name, nvlink=nvlink, usable=not why_not, why_not=why_not, **(place | where))
    return Spot(node, slots)


def snapshot(
    spots: Iterable[Spot],
    waiting: Iterable[Job] = (),
    running: Iterable[Running] = (),
    teams: Iterable[Team] = (VISION,),
) -> Snapshot:
    """Nodes are numbered from 1 in the order given."""
    spots = tuple(spots)
    free = np.zeros((len(spots), max((len(spot.slots) for spot in spots), default=0)), dtype=bool)
    for row, one in enumerate(spots):
        free[row, : len(one.slots)] = [slot == "." for slot in one.slots]
    nodes = tuple(replace(one.node, id=number) for number, one in enumerate(spots, start=1))
    return Snapshot(NOW, nodes, free, tuple(waiting), tuple(running), tuple(teams))


def job(number: int, shape: str = "1x8", gpu_type: str = "H100", **asked: object) -> Job:
    """`shape` is nodes x GPUs on each; jobs come in the order of their numbers, a minute apart."""
    nodes, gpus = shape.split("x")
    fields: dict[str, object] = {"version": 1, "team": "vision", "user": "mira", "tier": Tier.STANDARD}
    fields["submitted_at"] = NOW - timedelta(days=1) + timedelta(minutes=number)
    fields |= {"nodes": int(nodes), "gpus_per_node": int(gpus), "gpu_type": gpu_type}
    return Job(id=number, **(fields | asked))  # type: ignore[arg-type]


def run(number: int, nodes: Iterable[int], gpus: int, ends_in_min: int | None = None, **held: str) -> Running:
    """A run that holds so many GPUs in all on these nodes, with or without a limit."""
    ends_by = None if ends_in_min is None else NOW + timedelta(minutes=ends_in_min)
    team, kind = held.get("team", "vision"), held.get("gpu_type", "H100")
    return Running(number, team, Tier.STANDARD, kind, gpus, tuple(nodes), ends_by)


def tree(*lines: tuple[str, str | None, Mapping[str, int]]) -> tuple[Team, ...]:
    """Teams as (name, team above, nominal quota)."""
    return tuple(Team(name, above, nominal) for name, above, nominal in lines)
