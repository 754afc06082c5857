"""A whole race at once: the order of queues in which everybody starts at its turn.

Who goes next has the smallest key: used against share at every level from the top, then the user's own use,
then the place. With every start the keys of its user, its team and the teams above grow. What a level has used
at somebody's turn depends only on who went before below that level. So each level is put in order on its own,
from the lowest up, and no key has to be looked at twice: sorting takes the place of starting one by one.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from scheduler.core.scale import GRAIN, LAST, Level, Scale
from scheduler.core.share import Owner
from scheduler.core.tree import Ints

Floats = NDArray[np.float64]


def all_start(
    scale: Scale, queues: Mapping[Owner, Sequence[int]], gpu_seconds: Sequence[float], *, borrows: bool
) -> list[int]:
    """The places of all queues in the order of their turns.

    Each start counts so many GPU-seconds at once, given by place; in the end the scale has counted them all.
    """
    owners, every = list(queues), list(chain.from_iterable(queues.values()))
    place: Ints = np.array(every, dtype=np.int64)
    queue: Ints = np.repeat(np.arange(len(owners)), [len(places) for places in queues.values()])
    amount: Floats = np.array([gpu_seconds[number] for number in every], dtype=np.float64)
    counts: Ints = np.floor(amount * GRAIN + 0.5).astype(np.int64)
    used = _before(counts, queue) + np.array([scale.used.get(owner, 0) for owner in owners])[queue]
    tracks = [Track(scale, owners, depth) for depth in range(scale.depth)]
    keys: list[NDArray[np.generic]] = [place, used]
    for track in reversed(tracks):
        order = np.lexsort((*keys, track.group[queue]))
        ratio, priority = track.ratios(counts, queue, order)
        keys += [ratio, priority] if borrows else [ratio]
    turns: list[int] = place[np.lexsort(tuple(keys))].tolist()
    first = np.flatnonzero(np.diff(queue, prepend=-1))
    for owner, number in zip(owners, np.add.reduceat(counts, first).tolist(), strict=True):
        scale.count(owner, number)
    return turns


class Track:
    """The levels at one depth below the top, by queue; where a path is shorter, there is nothing to compare."""

    def __init__(self, scale: Scale, owners: Sequence[Owner], depth: int) -> None:
        paths = [scale.path(team) for team, _ in owners]
        numbers: dict[Level, int] = {}
        lowest = [path[min(depth, len(path) - 1)] for path in paths]
        self.group: Ints = np.array([numbers.setdefault(level, len(numbers)) for level in lowest])
        self._deep = np.array([depth < len(path) for path in paths])
        self._used: Ints = np.array([level.used for level in lowest], dtype=np.int64)
        self._weight: Floats = np.array([level.weight for level in lowest], dtype=np.float64)
        self._priority: Ints = np.array([-level.priority for level in lowest], dtype=np.int64)

    def ratios(self, counts: Ints, queue: Ints, order: Ints) -> tuple[Floats, Ints]:
        """Used against weight at each one's turn, and the priority, which comes before that."""
        before = np.empty_like(counts)
        before[order] = _before(counts[order], self.group[queue[order]])
        used, weight = before + self._used[queue], self._weight[queue]
        real = weight > 0
        ratio = np.where(real, used / np.where(real, weight, 1.0), (1 + used) * LAST)
        deep = self._deep[queue]
        return np.where(deep, ratio, 0.0), np.where(deep, self._priority[queue], 0)


def _before(counts: Ints, group: Ints) -> Ints:
    """What all before it in its group sum up to; groups stand side by side."""
    sums = np.cumsum(counts) - counts
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return sums - np.repeat(sums[first], np.diff(first, append=len(group)))
