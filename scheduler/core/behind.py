"""Those who fell behind while a round lasts: a heap at every level of the team tree.

A start changes the keys of thousands of users at once, all below the same team. With a heap at each level
only the levels above the start are looked at again. Keys only grow, so an entry that is too early is found
and put right when it comes to the top.
"""

from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from itertools import count

from scheduler.core.scale import Key, Level, Scale
from scheduler.core.share import Owner

FAR, UNKNOWN = 1 << 60, -1


class Stream:
    """Places of the jobs of one queue, in order."""

    __slots__ = ("above", "at", "listed", "owner", "places", "scale")

    def __init__(self, scale: Scale, owner: Owner, above: "list[Node]") -> None:
        self.scale, self.owner = scale, owner
        self.above = above  # the levels from the team's own work up to the top
        self.places: list[int] = []
        self.at = 0
        self.listed: Key = ()  # the key under which the level above has it; () = it is not there

    def best(self) -> Key:
        """What its user has used, and its next place; () = none is left."""
        if self.at == len(self.places):
            return ()
        return (self.scale.used[self.owner], self.places[self.at])


class Node:
    """A level of the team tree with those below it that have jobs."""

    __slots__ = ("borrows", "heap", "known", "level", "listed", "pads", "then")

    def __init__(self, level: Level | None, *, borrows: bool, pads: int) -> None:
        self.level, self.borrows = level, borrows
        self.pads = (0.0,) * pads  # so that all keys have the same length
        self.heap: list[tuple[Key, int, Node | Stream]] = []
        self.listed: Key = ()
        self.known: Key = ()  # its smallest key, while nothing below it is used or taken; () = look
        self.then = -1  # what its level had used when that was worked out

    def own(self) -> Key:
        """Its part of the key."""
        if self.level is None:
            return ()
        ratio = self.level.ratio
        return (-self.level.priority, ratio, *self.pads) if self.borrows else (ratio, *self.pads)

    def best(self) -> Key:
        """The smallest key below it, with its own part in front; () = none is left."""
        level = self.level
        if level is None:
            return self._look()
        if not self.known or self.then != level.used:  # whatever is used below it is used by the level, too
            self.known, self.then = self._look(), level.used
        return self.known

    def _look(self) -> Key:
        heap = self.heap
        while heap:
            key, number, child = heap[0]
            now = child.best() if child.listed == key else ()
            if now == key:
                return self.own() + key
            if now:
                child.listed = now
                heapreplace(heap, (now, number, child))
                continue
            if child.listed == key:  # else it has an earlier entry, and this one is old
                child.listed = ()
            heappop(heap)
        return ()


class Behind:
    """Gives the places of its queues one by one, the smallest key first."""

    def __init__(self, scale: Scale, owners: Sequence[Owner], *, borrows: bool) -> None:
        self.scale, self._owners, self._borrows = scale, owners, borrows
        self._top = Node(None, borrows=borrows, pads=0)
        self._nodes: dict[Level, Node] = {}
        self._streams: dict[int, Stream] = {}
        self._numbers = count()
        self._version = -1
        # Who goes now, as of that version: a stream, the level it is in, and how long it stays the first.
        self._now: Stream | None = None
        self._trail: list[Node] = []  # the levels above that one, from the top
        self._home = self._top
        self._over: Key = ()  # the key of the levels above
        self._front: Key = ()  # the key of the stream without its place
        self._until = UNKNOWN  # places of it below this one come before all others
        self._rival: Key = ()  # the smallest key outside its level

    def join(self, queue: int, places: Sequence[int]) -> None:
        """These jobs of a queue are here from now on, after those that came before."""
        if queue not in self._streams:
            owner = self._owners[queue]
            self._streams[queue] = Stream(self.scale, owner, self._above(owner[0]))
        stream = self._streams[queue]
        stream.places.extend(places)
        child: Stream | Node = stream
        for node in stream.above:
            node.known = ()
        for node in stream.above:
            key = child.best()
            if child.listed and child.listed <= key:
                return
            self._version = -1
            child.listed = key
            heappush(node.heap, (key, next(self._numbers), child))
            if node.heap[0][2] is not child:
                return
            child = node

    def _above(self, team: str) -> list[Node]:
        """The levels from the team's own work up to the top."""
        path = self.scale.path(team)
        if path[-1] not in self._nodes:
            step = 2 if self._borrows else 1
            for level in path:
                pads = step * (self.scale.depth - len(path)) if level is path[-1] else 0
                if level not in self._nodes:
                    self._nodes[level] = Node(level, borrows=self._borrows, pads=pads)
        return [*(self._nodes[level] for level in reversed(path)), self._top]

    def best(self) -> Key:
        """The key of the next one, its place at the end; () = none is left."""
        stream = self._now
        if stream is None or self._version != self.scale.version:
            return self._look()
        if self._until == UNKNOWN:
            self._reckon()
        if stream.at < len(stream.places) and (place := stream.places[stream.at]) < self._until:
            return (*self._front, place)
        within = self._home.best()
        key = self._over + within
        return self._go(key) if within and (not self._rival or key < self._rival) else self._look()

    def _look(self) -> Key:
        """From the top down to the level whose turn it is."""
        best, node, trail = self._top.best(), self._top, list[Node]()
        self._version, self._now = self.scale.version, None
        if not best:
            return ()
        while isinstance(child := node.heap[0][2], Node):
            trail.append(node)
            node = child
        self._now, self._trail, self._home = child, trail, node
        self._front, self._until = best[:-1], UNKNOWN
        return best

    def _reckon(self) -> None:
        """How long it stays the first: worked out when something is asked again before anything starts."""
        over, rivals = list[float](), list[Key]()
        for node in self._trail:
            over += node.own()
            rivals += _seconds(node, tuple(over))
        self._over, self._rival = tuple(over), min(rivals, default=())
        self._until = self._limit()

    def _go(self, best: Key) -> Key:
        """The first of the level goes on until somebody else would come before it."""
        first = self._home.heap[0][2]
        assert isinstance(first, Stream)
        self._now, self._front = first, best[:-1]
        self._until = self._limit()
        return best

    def _limit(self) -> int:
        rivals = _seconds(self._home, self._over + self._home.own())
        rival = min([*rivals, self._rival] if self._rival else rivals, default=())
        return int(rival[-1]) if rival[:-1] == self._front else FAR

    def pop(self) -> int:
        """Take the one that `best` spoke of."""
        assert self._now is not None
        self._now.at += 1
        for node in self._now.above:
            node.known = ()
        return self._now.places[self._now.at - 1]


def _seconds(node: Node, front: Key) -> list[Key]:
    """The second smallest of a heap is one of the two below the first."""
    return [front + key for key, _, _ in node.heap[1:3]]
