"""Random small crowds: a cluster where most is taken, and a gang that needs a place. For the properties of stops."""

from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import strategies as st

from scheduler.core.board import Board
from scheduler.core.burden import Burden
from scheduler.core.candidates import Candidate
from scheduler.core.layout import Layout
from scheduler.core.model import Node, Request, Running, Seat, Tier
from scheduler.core.verbs import Why
from scheduler.core.want import Want
from tests.core.builders import HOUR, NOW

WIDTH = 4
REQUESTS = (
    *(Request(gpus, gpu_types=("H100",)) for gpus in (1, 2, 3, 4, 6, 8, 12)),
    *(Request(gpus, tp=2, gpu_types=("H100",)) for gpus in (2, 4, 8)),
    *(Request(nodes * gpus, nodes=nodes, gpu_types=("H100",)) for nodes in (1, 2, 3) for gpus in (1, 3, 4)),
    *(Request(6, gpu_types=("H100",), level=level, required=True) for level in ("rack", "block")),
    *(Request(8, nodes=2, gpu_types=("H100",), level=level, required=True) for level in ("rack", "block")),
    Request(3, gpu_types=("H100",), level="node", required=True),
    Request(4, gpu_types=("H100",), cpus_per_gpu=4.0),
    Request(8, gpu_types=("H100",), spot_share=0.5),
)


@dataclass(frozen=True)
class Crowd:
    """A board, what is looked for, and who could be stopped for it."""

    board: Board
    want: Want
    candidates: tuple[Candidate, ...]

    def without(self, victims: tuple[Candidate, ...]) -> Board:
        """The board once these are gone."""
        board = self.board.copy()
        for one in victims:
            board.give(one.run.seats, one.run.request)
        return board


def crowds(most_runs: int = 9) -> st.SearchStrategy[Crowd]:
    """Sizes shrink; the rest comes from one seed, which meets far more kinds of worlds in the same time."""
    return st.builds(build, st.integers(1, 8), st.integers(0, most_runs), st.integers(0, 2**32 - 1))


def build(nodes: int, runs: int, seed: int) -> Crowd:
    """Runs sit on one node or on several; some GPUs are free, some are held by who may not be stopped."""
    dice = Random(seed)
    around = tuple(_node(dice, number) for number in range(nodes))
    left = {node.id: [slot for slot in range(WIDTH) if dice.random() < 0.9] for node in around}
    running = [run for number in range(runs) if (run := _run(dice, number, left)) is not None]
    free = np.zeros((nodes, WIDTH), dtype=bool)
    for row, node in enumerate(around):
        free[row, [slot for slot in left[node.id] if dice.random() < 0.5]] = True
    layout = Layout(around)
    board = Board(layout, free, Burden.of(layout, running))
    candidates = tuple(Candidate(run, _cost(dice, run), Why.PREEMPTED, run.gpus) for run in running)
    return Crowd(board, Want(dice.choice(REQUESTS)), candidates)


def _node(dice: Random, number: int) -> Node:
    return Node(
        id=number + 1,
        name=f"n{number}",
        cluster=dice.choice(("north", "north", "north", "south")),
        pool="training",
        block=dice.choice(("b1", "b2")),
        rack=dice.choice(("r1", "r2")),
        gpu_type="H100",
        nvlink=dice.choice(((0, 0, 0, 0), (0, 0, 1, 1))),
        usable=dice.random() < 0.95,
        cpus=dice.choice((None, 16.0)),
        spot=dice.random() < 0.3,
    )


def _run(dice: Random, number: int, left: dict[int, list[int]]) -> Running | None:
    nodes = [node for node in left if left[node]]
    if not nodes:
        return None
    seats = []
    for node in dice.sample(nodes, min(len(nodes), dice.choice((1, 1, 1, 2, 3)))):
        slots = dice.sample(left[node], dice.randint(1, len(left[node])))
        left[node] = [slot for slot in left[node] if slot not in slots]
        seats.append(Seat(node, tuple(sorted(slots))))
    request = Request(sum(len(seat.slots) for seat in seats), cpus_per_gpu=dice.choice((0.0, 0.0, 4.0)))
    return Running(number, "vision", Tier.OPPORTUNISTIC, "H100", tuple(seats), request, NOW - HOUR)


def _cost(dice: Random, run: Running) -> float:
    """Most often what a checkpoint leaves to lose, so that many sets cost the same."""
    return run.gpus * (60.0 if dice.random() < 0.5 else dice.choice((60.0, 90.0, 600.0, 3600.0)))
