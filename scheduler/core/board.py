"""Scratch paper: what is free at this point of the plan, counted at each level of each tree."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Seat
from scheduler.core.tree import Depth, Ints, Tree


class Tally:
    """The free GPUs of one tree, and for each domain how many of its nodes have at least g of them free."""

    def __init__(self, tree: Tree, free: NDArray[np.bool_]) -> None:
        self.tree = tree
        self.steps = 0  # domains and nodes looked at
        self.node_free: Ints = free[tree.rows].sum(axis=1, dtype=np.int64)
        # One column more than the largest node has GPUs: "at least g" less "at least g + 1" is "exactly g".
        at_least = (self.node_free[:, None] >= np.arange(tree.width + 2)).astype(np.int64)
        self.free: list[Ints] = []  # by depth: [domain]
        self.fits: list[Ints] = []  # by depth: [domain, g]
        for level in tree.levels:
            self.free.append(np.add.reduceat(self.node_free, level.first_node))
            self.fits.append(np.add.reduceat(at_least, level.first_node, axis=0))

    def most_nodes(self, gpus: int) -> int:
        """The most nodes with at least `gpus` free that one cluster has."""
        return int(self.fits[Depth.CLUSTER][:, gpus].max()) if gpus <= self.tree.width else 0

    def most_free(self) -> int:
        """The most GPUs that are free in one cluster."""
        return int(self.free[Depth.CLUSTER].max())

    def holds(self, nodes: int, gpus: int) -> bool:
        """Whether some cluster has room for the gang now: racks and blocks are wishes, clusters are walls."""
        self.steps += len(self.free[Depth.CLUSTER])
        return self.most_nodes(gpus) >= nodes

    def take(self, position: int, gpus: int) -> None:
        """Count `gpus` fewer on one node: the cost grows with the depth of the tree, not with its size."""
        had = int(self.node_free[position])
        left = had - gpus
        self.node_free[position] = left
        for level, free, fits in zip(self.tree.levels, self.free, self.fits, strict=True):
            domain = level.of_node[position]
            free[domain] -= gpus
            fits[domain, left + 1 : had + 1] -= 1


class Board:
    """One tally for each GPU type, and the free slots behind them."""

    def __init__(self, layout: Mapping[str, Tree], free: NDArray[np.bool_]) -> None:
        self.slots = free.copy()
        self.tallies = {kind: Tally(tree, free) for kind, tree in layout.items()}

    @property
    def steps(self) -> int:
        """What the search on this board has cost so far."""
        return sum(tally.steps for tally in self.tallies.values())

    def holds(self, kind: str, nodes: int, gpus: int) -> bool:
        """Whether a gang of this shape has room on GPUs of this type."""
        return kind in self.tallies and self.tallies[kind].holds(nodes, gpus)

    def take(self, kind: str, seats: Iterable[Seat]) -> None:
        """Give these seats away."""
        tally = self.tallies[kind]
        for seat in seats:
            position = tally.tree.position[seat.node]
            self.slots[tally.tree.rows[position], list(seat.slots)] = False
            tally.take(position, len(seat.slots))
