"""Random small worlds for the properties: a cluster, what runs on it, who waits, and the team tree."""

from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from scheduler.core.model import Job, Node, Running, Snapshot, Team, Tier
from tests.core.builders import NOW

quick = settings(max_examples=400, deadline=None, database=None)

TYPES = ("A100", "H100")
ABOVE = {"org": None, "vision": "org", "depth": "vision", "speech": "org"}
STATES = ("",) * 6 + ("drained", "silent", "lost", "pending")
LARGEST = 4


@dataclass(frozen=True)
class World:
    """A snapshot, and which slots (node row, slot) each run holds."""

    snap: Snapshot
    held: dict[int, list[tuple[int, int]]]


def worlds(most_nodes: int = 9, most_jobs: int = 12) -> st.SearchStrategy[World]:
    """Sizes shrink; the rest comes from one seed, which meets far more kinds of worlds in the same time."""
    return st.builds(build, st.integers(0, most_nodes), st.integers(0, most_jobs), st.integers(0, 2**32 - 1))


def build(nodes: int, jobs: int, seed: int) -> World:
    """Every GPU that is not free is held by one of two runs on its node."""
    dice = Random(seed)
    types = dice.choice((("H100",), TYPES))
    around = tuple(_node(dice, number, types) for number in range(nodes))
    free = np.zeros((nodes, LARGEST), dtype=bool)
    held: dict[int, list[tuple[int, int]]] = {}
    busy = dice.choice((0.0, 0.3, 0.7))
    for row, node in enumerate(around):
        for slot in range(len(node.nvlink)):
            free[row, slot] = dice.random() >= busy
            if not free[row, slot]:
                held.setdefault(100 + 10 * row + dice.randrange(2), []).append((row, slot))
    running = tuple(_run(dice, number, around[slots[0][0]], len(slots)) for number, slots in held.items())
    waiting = tuple(_job(dice, number) for number in range(1, 1 + jobs))
    teams = [_team(dice, name) for name in ABOVE]
    dice.shuffle(teams)
    return World(Snapshot(NOW, around, free, waiting, running, tuple(teams)), held)


def _node(dice: Random, number: int, types: tuple[str, ...]) -> Node:
    why_not = dice.choice(STATES)
    return Node(
        id=number * 7 % 11,
        name=f"n{number}",
        cluster=dice.choice(("north", "north", "north", "south")),
        pool=dice.choice(("training", "research")),
        block=dice.choice(("b1", "b2")),
        rack=dice.choice(("r1", "r2")),
        gpu_type=dice.choice(types),
        nvlink=tuple(dice.randrange(2) for _ in range(dice.choice((1, 2, 4, 4, LARGEST)))),
        usable=not why_not,
        why_not=why_not,
    )


def _job(dice: Random, number: int) -> Job:
    return Job(
        id=number,
        version=dice.randint(1, 3),
        team=dice.choice(tuple(ABOVE)),
        user="mira",
        tier=dice.choice(tuple(Tier)),
        submitted_at=NOW - timedelta(minutes=dice.randrange(4)),
        nodes=dice.choice((1, 1, 1, 2, 2, 3)),
        gpus_per_node=dice.choice((1, 1, 1, 2, 2, 3, 4, 4, 5)),
        gpu_type=dice.choice(("", "", *("H100",) * 5, "A100", "A100", "B200")),
    )


def _team(dice: Random, name: str) -> Team:
    limited = [kind for kind in TYPES if dice.random() < 0.2]
    return Team(name, ABOVE[name], {kind: dice.choice((0, 2, 4, 4, 6, 8, 12)) for kind in limited})


def _run(dice: Random, number: int, node: Node, gpus: int) -> Running:
    ends_by = None if dice.random() < 0.3 else NOW + timedelta(minutes=dice.randint(-5, 4000))
    return Running(number, dice.choice(tuple(ABOVE)), Tier.STANDARD, node.gpu_type, gpus, (node.id,), ends_by)


def only(snap: Snapshot, *jobs: Job) -> Snapshot:
    """The same world with only these jobs waiting."""
    return replace(snap, waiting=jobs)


def unlimited(snap: Snapshot) -> Snapshot:
    """The same world without quotas."""
    return replace(snap, teams=tuple(replace(team, nominal={}) for team in snap.teams))


def healthy(snap: Snapshot) -> Snapshot:
    """The same world with all approved nodes back."""
    back = tuple(
        node if node.why_not == "pending" else replace(node, usable=True, why_not="") for node in snap.nodes
    )
    return replace(snap, nodes=back)


def emptied(snap: Snapshot) -> Snapshot:
    """The same world, healthy and with nothing running."""
    sizes = np.array([len(node.nvlink) for node in snap.nodes], dtype=int)
    every = np.arange(snap.free.shape[1]) < sizes[:, None]
    return replace(healthy(snap), free=every, running=())
