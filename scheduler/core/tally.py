"""The room for one ground counted at each level of the tree, kept along with what is taken and given."""

from typing import Self

import numpy as np

from scheduler.core.ground import Ground
from scheduler.core.tree import Bools, Depth, Ints

ABOVE = (Depth.RACK, Depth.BLOCK, Depth.CLUSTER)


class Meter:
    """Domains and nodes looked at: the cost of a search, counted instead of timed."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0


class Trail:
    """Where the last changes fell: a domain that was the fullest stays so while only it gets fuller."""

    __slots__ = ("last", "paths", "since", "stamp")

    def __init__(self) -> None:
        self.stamp = 0  # changes so far
        self.last = [-1] * 4  # by depth: the domain of the last change
        self.since = [0] * 4  # by depth: all changes from this stamp on fell into that domain
        self.paths: dict[int, tuple[int, list[int]]] = {}  # room -> the stamp and the domains of a descent

    def leads(self, room: int, depth: Depth) -> int | None:
        """The domain of this depth that is known to be the fullest of those that had such a node."""
        if room not in self.paths:
            return None
        stamp, path = self.paths[room]
        still = stamp == self.stamp or (self.last[depth] == path[depth] and self.since[depth] <= stamp)
        return path[depth] if still else None


class Tally:
    """The room of each node; for each domain its sum, and how many of its nodes have room for g."""

    def __init__(self, ground: Ground, nodes: Bools, rooms: Ints, meter: Meter) -> None:
        self.ground = ground
        self.nodes = nodes  # which of them count here; the others have no room
        self.tree = tree = ground.tree
        self.meter = meter
        self.seen = 0  # how much of the board's log is counted in
        self.shared = False  # a copy of the board reads it too: nobody may write to it
        rack, racks = tree.levels[Depth.RACK].domain, len(tree.levels[Depth.RACK])
        meter.steps += racks
        wide = tree.width + 2  # one more than any node has: "at least g" less "at least g + 1" is "exactly g"
        exactly = np.bincount(rooms * racks + rack, minlength=wide * racks).reshape(wide, racks)
        fits: Ints = np.ascontiguousarray(exactly[::-1].cumsum(axis=0)[::-1])
        free: Ints = np.bincount(rack, weights=rooms, minlength=racks).astype(np.int64)
        # By depth; fits is [g, domain]. At Depth.NODE free is each node's room, and fits is of no use.
        self.free, self.fits = [rooms, free], [np.empty((wide, 0), dtype=np.int64), fits]
        for level in tree.levels[Depth.BLOCK :]:
            free, fits = (
                np.add.reduceat(free, level.first_part),
                np.add.reduceat(fits, level.first_part, axis=1),
            )
            self.free.append(free)
            self.fits.append(fits)
        self.exactly: list[int] = exactly.sum(axis=1).tolist()  # how many nodes have this room
        self.latest = [-1] * wide  # a node that came to have this room, if it still has
        self.trail = Trail()

    def copy(self) -> Self:
        """The same counts on other paper."""
        twin = object.__new__(type(self))
        twin.ground, twin.nodes, twin.tree = self.ground, self.nodes, self.tree
        twin.meter, twin.seen, twin.shared = self.meter, self.seen, False
        twin.free = [one.copy() for one in self.free]
        twin.fits = [one.copy() for one in self.fits]
        twin.exactly, twin.latest, twin.trail = self.exactly.copy(), self.latest.copy(), Trail()
        return twin

    def put(self, position: int, room: int) -> None:
        """Count a node anew: the cost grows with the depth of the tree, not with its size."""
        had = int(self.free[0][position])
        if room == had:
            return
        if room < had:
            low, high, more, trail = room + 1, had + 1, -1, self.trail
        else:  # elsewhere may be fuller now
            low, high, more, trail = had + 1, room + 1, 1, Trail()
        self.trail = trail
        self.free[0][position] = room
        self.exactly[had] -= 1
        self.exactly[room] += 1
        self.latest[room] = position
        for depth in ABOVE:
            domain = self.tree.levels[depth].of_node[position]
            self.free[depth][domain] += room - had
            if high - low == 1:  # the common case, and a single cell costs a third of a range
                self.fits[depth][low, domain] += more
            else:
                self.fits[depth][low:high, domain] += more
            if trail.last[depth] != domain:
                trail.last[depth], trail.since[depth] = domain, trail.stamp
        trail.stamp += 1

    def parts(self, depth: Depth, domain: int) -> tuple[int, int]:
        """Where the parts of a domain stand, one level below it."""
        bounds = self.tree.levels[depth].bounds
        low, high = bounds[domain], bounds[domain + 1]
        self.meter.steps += high - low
        return low, high

    def most_free(self, depth: Depth) -> int:
        """The most GPUs that one domain of this level can give."""
        if depth is Depth.NODE:
            return next((room for room in range(self.tree.width, 0, -1) if self.exactly[room]), 0)
        self.meter.steps += len(self.free[depth])
        return int(self.free[depth].max())

    def most_nodes(self, depth: Depth, gpus: int) -> int:
        """The most nodes with room for `gpus` in one domain of this level."""
        if gpus > self.tree.width:
            return 0
        if depth is Depth.NODE:
            return int(self.most_free(depth) >= gpus)
        self.meter.steps += len(self.free[depth])
        return int(self.fits[depth][gpus].max())

    def least_room(self, gpus: int) -> int | None:
        """The smallest room for `gpus` that a node has."""
        exactly = self.exactly
        for room in range(gpus, len(exactly) - 1):
            if exactly[room]:
                return room
        return None
