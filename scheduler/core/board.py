"""Scratch paper of a plan: where a request fits at this point."""

from typing import NamedTuple

import numpy as np

from scheduler.core import search, seats
from scheduler.core.ground import Ground
from scheduler.core.layout import Layout, Query
from scheduler.core.model import Request, Seat, Tier
from scheduler.core.place import Chosen
from scheduler.core.policy import Policy
from scheduler.core.slate import Slate
from scheduler.core.tree import Tree

STANDARD, DEFAULT = Tier.STANDARD, Policy()


class Placement(NamedTuple):
    """Where a gang sits: the order of its seats is the order on the tree, so that neighbours are near."""

    kind: str
    seats: tuple[Seat, ...]
    level: str  # the narrowest level that holds all of them: node, rack, block or cluster


class Board(Slate):
    """What is free, and what fits there."""

    def place(
        self,
        request: Request,
        *,
        tier: Tier = STANDARD,
        policy: Policy = DEFAULT,
        gpus: int | None = None,
        relaxed: bool = True,
        firm: bool = False,
    ) -> Placement | None:
        """All seats of the gang or None; `firm`: it may not be stopped, and small ones keep to themselves."""
        query = self.layout.query(request, gpus or request.gpus, tier=tier, policy=policy, relaxed=relaxed)
        found = search.seek(self, query, firm=firm)
        return None if found is None else self._placement(*found)

    def holds(
        self,
        request: Request,
        *,
        tier: Tier = STANDARD,
        policy: Policy = DEFAULT,
        gpus: int | None = None,
        relaxed: bool = True,
        firm: bool = False,
    ) -> bool:
        """Whether `place` would find something; `firm` decides where, never whether."""
        query = self.layout.query(request, gpus or request.gpus, tier=tier, policy=policy, relaxed=relaxed)
        return search.holds(self, query)

    def query(self, request: Request, *, tier: Tier = STANDARD, policy: Policy = DEFAULT) -> Query:
        """The request worked out for the nodes of this board, with its wishes kept."""
        return self.layout.query(request, request.gpus, tier=tier, policy=policy, relaxed=False)

    def _placement(self, ground: Ground, found: Chosen) -> Placement:
        tree, tp = ground.tree, ground.traits.tp
        taken = tuple(self._seat(tree, position, gpus, tp) for position, gpus in found)
        return Placement(tree.gpu_type, taken, tree.level_of(found[0][0], found[-1][0]).word)

    def _seat(self, tree: Tree, position: int, gpus: int, tp: int) -> Seat:
        node = tree.nodes[position]
        free = self.free[tree.rows[position]].tolist()
        return Seat(node.id, seats.choose(free, node.nvlink, gpus, tp))


def empty_board(layout: Layout) -> Board:
    """The known cluster, healthy and empty."""
    return Board(layout, np.ones(layout.exists.shape, dtype=np.bool_), mended=True)
