"""The nodes as the core sees them, made anew only when a fault has changed them."""

from dataclasses import replace
from math import inf

import numpy as np

from scheduler.core.model import Node
from scheduler.sim.floor import NOBODY
from scheduler.sim.site import Bools, Site
from scheduler.sim.thinkers.wording import node_of
from scheduler.sim.world import World

LEMON_S = 30 * 86400.0  # faults so far back still count


class Terrain:
    """Nodes and their free GPUs, at every moment of one replay."""

    def __init__(self) -> None:
        self.nodes: tuple[Node, ...] = ()
        self._out = np.array([], dtype=np.int64)  # rows that are out of use as a whole
        self._changes = -1
        self._until = -inf  # when a fault will have been forgotten

    def look(self, world: World) -> None:
        """Bring the nodes up to date."""
        if world.floor.changes == self._changes and world.now < self._until:
            return
        self._changes, self._until = world.floor.changes, inf
        closed = world.floor.closed.all(axis=1)
        lost = (world.floor.down | ~world.site.exists).all(axis=1)
        self._out = np.flatnonzero(closed)
        why_not = np.where(closed, np.where(lost, "lost", "drained"), "").tolist()
        self.nodes = tuple(self._node(world, row, why) for row, why in enumerate(why_not))

    def free(self, world: World) -> Bools:
        """[row, slot]: the GPU works and nobody holds it. On a node that is out as a whole the node says so."""
        free = world.floor.free.copy()
        if self._out.size:
            free[self._out] = (world.floor.owner[self._out] == NOBODY) & world.site.exists[self._out]
        return free

    def _node(self, world: World, row: int, why_not: str) -> Node:
        falls = [fall for fall in world.falls[row] if fall + LEMON_S > world.now]
        if falls:
            self._until = min(self._until, falls[0] + LEMON_S)
        node = node_of(row, world.site.machines[row], why_not=why_not, lemon=max(0, len(falls) - 1))
        if why_not:
            return node
        # A GPU that is out while its node is not: who sits on it frees nothing by going.
        shut = world.floor.closed[row].tolist()
        return replace(
            node, nvlink=tuple(-1 if out else link for link, out in zip(node.nvlink, shut, strict=False))
        )


def healthy(site: Site) -> tuple[Node, ...]:
    """The nodes when nothing has ever happened to them."""
    return tuple(node_of(row, machine) for row, machine in enumerate(site.machines))
