"""How broken the free capacity is: the largest gang that could start now, and what the usual jobs cannot use."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler.core.board import Board
from scheduler.core.layout import Query
from scheduler.core.model import Request, Tier
from scheduler.core.policy import Policy
from scheduler.core.tally import Tally
from scheduler.core.tree import Depth

Mix = Sequence[tuple[Request, float]]  # kinds of requests and how often they come
STANDARD, DEFAULT = Tier.STANDARD, Policy()


class Largest(NamedTuple):
    """The most GPUs that one gang of any shape could have now, inside one domain of each level."""

    node: int
    rack: int
    block: int
    cluster: int


def largest_gangs(board: Board, *, tier: Tier = STANDARD, policy: Policy = DEFAULT) -> dict[str, Largest]:
    """By GPU type that such a job may use at all."""
    found = {}
    for kind in board.layout.fields:
        query = board.query(Request(1, gpu_types=(kind,)), tier=tier, policy=policy)
        for ground in query.grounds:
            tally = board.tally(ground)
            found[kind] = Largest(*(tally.most_free(depth) for depth in Depth))
    return found


def fragmentation(board: Board, mix: Mix, *, tier: Tier = STANDARD, policy: Policy = DEFAULT) -> float:
    """The expected share of the free GPUs that a job of this mix cannot use, though their type would do.

    A gang counts by domains: a rack with five free nodes is all fragment for eight nodes in one rack. A
    preferred level counts like a required one.
    """
    totals = _free(board)
    free = wasted = 0.0
    for request, often in mix:
        query = board.query(request, tier=tier, policy=policy)
        there = sum(totals[kind] for kind in request.gpu_types or totals if kind in totals)
        usable = sum(_usable(board.tally(ground), query) for ground in query.grounds)
        free += often * there
        wasted += often * (there - usable)
    return wasted / free if free else 0.0


def _free(board: Board) -> dict[str, int]:
    return {kind: int(board.free[field.tree.rows].sum()) for kind, field in board.layout.fields.items()}


def _usable(tally: Tally, query: Query) -> int:
    """The free GPUs in domains that hold the gang; of an exact shape, on nodes that hold their part of it."""
    shape, depth = query.shape, query.reach
    tally.meter.steps += len(tally.free[depth])
    if shape is None:
        free = tally.free[depth]
        return int(free[free >= query.gpus].sum())
    if shape.size > tally.tree.width or (depth is Depth.NODE and shape.nodes > 1):
        return 0
    fits = tally.fits[depth if shape.nodes > 1 else Depth.CLUSTER]
    # Nodes with room for r or more, summed over r, are the GPUs on nodes with room for the part.
    gpus = fits[shape.size :].sum(axis=0) + (shape.size - 1) * fits[shape.size]
    return int(np.where(fits[shape.size] >= shape.nodes, gpus, 0).sum())
