"""Crowded clusters for measurements: teams with quotas, gangs of many sizes, most nodes busy. Seeded, so repeatable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Job, Node, Request, Running, Seat, Share, Snapshot, Team, Tier
from scheduler.core.policy import Policy

NOW = 1_794_925_500.0  # a Wednesday afternoon in November 2026
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
GPUS, RACK, BLOCK = 8, 16, 128  # GPUs of a node, nodes of a rack, nodes of a block
TIERS = (Tier.PRODUCTION, Tier.STANDARD, Tier.OPPORTUNISTIC)
TIER_MIX = (0.12, 0.58, 0.30)
# Most jobs are small and most GPUs belong to gangs, as in every published trace.
SIZES = {1: 34, 2: 12, 4: 14, 8: 24, 16: 6, 32: 4, 64: 3, 128: 2, 256: 0.7, 512: 0.3}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a crowd is to be."""

    nodes: int
    waiting: int
    teams: int = 40
    users: int = 8  # of each team
    busy: float = 0.97  # the share of GPUs that are held
    down: float = 0.01  # the share of nodes that are out of service
    shapes: bool = False  # no two waiting jobs ask for the same
    runs: dict[int, float] | None = (
        None  # the sizes of what runs and how often each; None = as those who wait
    )

    def times(self, factor: float) -> "Size":
        """The same crowd, so many times as large: more nodes and jobs, the same teams."""
        return Size(
            nodes=max(1, round(self.nodes * factor)),
            waiting=max(1, round(self.waiting * factor)),
            teams=self.teams,
            users=self.users,
            busy=self.busy,
            down=self.down,
            shapes=self.shapes,
            runs=self.runs,
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """Who submits."""

    team: str
    user: str


def crowd(size: Size, seed: int, policy: Policy | None = None) -> Snapshot:
    """A whole cluster at one moment, cold: no promise and no claim from a plan before."""
    dice = Random(f"{seed} {size.nodes} {size.waiting} {size.teams}")
    nodes = tuple(_node(dice, number, size) for number in range(size.nodes))
    teams = tuple(_teams(nodes, size.teams))
    owners = _owners(dice, size)
    free = np.ones((size.nodes, GPUS), dtype=np.bool_)
    running = tuple(_running(dice, (nodes, free), owners, size))
    waiting = tuple(arrivals(dice, owners, range(1, size.waiting + 1), size))
    usage = {(owner.team, owner.user): dice.expovariate(1 / (200 * HOUR)) for owner in owners}
    return Snapshot(NOW, nodes, free, waiting, running, teams, policy or Policy(), usage)


def _node(dice: Random, number: int, size: Size) -> Node:
    block = number // BLOCK
    down = dice.random() < size.down
    return Node(
        id=number + 1,
        name=f"n{number:05}",
        cluster="north",
        pool="training",
        block=f"b{block:03}",
        rack=f"r{number // RACK:04}",
        gpu_type="A100" if block % 4 == 3 else "H100",
        nvlink=(0,) * GPUS,
        usable=not down,
        why_not="drained" if down else "",
        cpus=96.0,
        memory_gib=1024.0,
        lemon=int(dice.random() < 0.02),
    )


def _teams(nodes: Sequence[Node], count: int) -> Iterator[Team]:
    """Departments of five teams each; what exists is promised to the teams in even parts, and half may be borrowed."""
    kinds = {node.gpu_type for node in nodes}
    total = {kind: GPUS * sum(node.gpu_type == kind for node in nodes) for kind in sorted(kinds)}
    for number in range(0, count, 5):
        yield Team(f"department-{number // 5:03}")
    for number in range(count):
        quota = {kind: _share(gpus // count) for kind, gpus in total.items()}
        yield Team(f"team-{number:04}", f"department-{number // 5:03}", quota, weight=1.0 + number % 3)


def _share(nominal: int) -> Share:
    return Share(nominal, borrow=max(GPUS, nominal // 2))


def _owners(dice: Random, size: Size) -> list[Owner]:
    """Some teams have more to do than others."""
    names = [f"team-{number:04}" for number in range(size.teams)]
    return [
        Owner(name, f"{name}-user-{number}")
        for name in names
        for number in range(max(1, round(size.users * dice.uniform(0.3, 1.7))))
    ]


def _running(
    dice: Random, ground: tuple[Sequence[Node], NDArray[np.bool_]], owners: Sequence[Owner], size: Size
) -> Iterator[Running]:
    """Fill the nodes one after the other, small gangs side by side, until as many GPUs are held as should be."""
    nodes, free = ground
    mix = size.runs or SIZES
    drawn = _drawn(dice, mix, 4 * size.nodes * GPUS)
    for kind in ("H100", "A100"):
        rows = [row for row, node in enumerate(nodes) if node.gpu_type == kind and node.usable]
        places = iter([(row, slot) for row in rows for slot in range(GPUS)])
        number, left = 1_000_000 + (kind == "A100") * 500_000, int(size.busy * len(rows) * GPUS)
        while left > 0 and (gpus := min(next(drawn), left)):
            taken: dict[int, list[int]] = {}
            for row, slot in (next(places) for _ in range(gpus)):
                taken.setdefault(row, []).append(slot)
                free[row, slot] = False
            seats = tuple(Seat(nodes[row].id, tuple(slots)) for row, slots in taken.items())
            left, number = left - gpus, number + 1
            if size.busy < 1.0 and dice.random() < 0.01:  # it has just ended
                for row, slots in taken.items():
                    free[row, slots] = True
                continue
            yield _run(dice, number, (kind, gpus, seats), dice.choice(owners))


def _run(dice: Random, number: int, held: tuple[str, int, tuple[Seat, ...]], owner: Owner) -> Running:
    kind, gpus, seats = held
    tier = dice.choices(TIERS, TIER_MIX)[0]
    began = NOW - dice.uniform(MINUTE, 2 * DAY)
    lasts = dice.lognormvariate(9.5, 1.2)
    limited, known = dice.random() < 0.4, dice.random() < 0.7
    return Running(
        job=number,
        team=owner.team,
        tier=tier,
        gpu_type=kind,
        seats=seats,
        request=Request(gpus, gpu_types=(kind,)),
        started_at=began,
        user=owner.user,
        submitted_at=began - dice.uniform(0.0, 6 * HOUR),
        version=1,
        ends_by=max(NOW + MINUTE, began + 2 * lasts) if limited else None,
        expected_end=NOW + lasts if known else None,
        saved_at=NOW - dice.uniform(0.0, 30 * MINUTE),
        preemptible=tier is not Tier.PRODUCTION,
        checkpoints=dice.random() < 0.6,
        stops=int(dice.random() < 0.1),
    )


def arrivals(
    dice: Random, owners: Sequence[Owner], numbers: Sequence[int], size: Size, *, now: float | None = None
) -> Iterator[Job]:
    """Jobs with these numbers; without a moment they came one after the other in the last hours."""
    largest = max(GPUS, size.nodes // 8 * GPUS)
    for number, gpus in zip(numbers, _drawn(dice, SIZES, len(numbers)), strict=True):
        at = NOW - dice.expovariate(1 / (8 * HOUR)) if now is None else now
        yield _job(dice, (number, min(gpus, largest), at), dice.choice(owners), different=size.shapes)


def _job(dice: Random, asked: tuple[int, int, float], owner: Owner, *, different: bool) -> Job:
    number, gpus, at = asked
    tier = dice.choices(TIERS, TIER_MIX)[0]
    lasts = dice.lognormvariate(9.5, 1.2)
    limited, known = dice.random() < 0.4, dice.random() < 0.7
    return Job(
        id=number,
        version=1,
        team=owner.team,
        user=owner.user,
        tier=tier,
        submitted_at=at,
        request=_unlike(gpus, number) if different else _request(dice, gpus),
        limit_s=round(2 * lasts / HOUR + 0.5) * HOUR if limited else None,
        forecast_s=lasts if known else None,
        p90_s=4 * lasts if known else None,
        preemptible=tier is not Tier.PRODUCTION,
        checkpoints=dice.random() < 0.6,
        deadline=NOW + dice.uniform(HOUR, 5 * DAY) if dice.random() < 0.05 else None,
    )


def _request(dice: Random, gpus: int) -> Request:
    """A few dozen kinds: types, exact shapes, tensor-parallel groups, levels, CPUs beside GPUs."""
    kinds = dice.choices((("H100",), ("A100",), ("H100", "A100")), (0.65, 0.2, 0.15))[0]
    draw = dice.random()
    if draw < 0.25 and gpus >= GPUS:
        return _shared(gpus, kinds, nodes=gpus // GPUS)
    if draw < 0.40 and gpus >= 4:
        return _shared(gpus, kinds, tp=4)
    if draw < 0.55 and 2 * GPUS <= gpus <= 64:
        return _shared(gpus, kinds, level=dice.choice(("rack", "block")), required=draw < 0.47)
    if draw > 0.8:
        return _shared(gpus, kinds, cpus_per_gpu=dice.choice((4.0, 8.0)))
    if draw > 0.75 and gpus >= 4:
        return _shared(gpus, kinds, min_gpus=gpus // 2)
    return _shared(gpus, kinds)


@cache
def _shared(gpus: int, kinds: tuple[str, ...], **more: Any) -> Request:
    """One object for each kind, as the portal's snapshot has them."""
    return Request(gpus, gpu_types=kinds, **more)


def _unlike(gpus: int, number: int) -> Request:
    """Like no other: each asks for a little more memory beside its GPUs."""
    return Request(gpus, gpu_types=("H100",), memory_gib_per_gpu=8.0 + number / 1000)


def _drawn(dice: Random, mix: dict[int, float], count: int) -> Iterator[int]:
    return iter(dice.choices(tuple(mix), tuple(mix.values()), k=count))
