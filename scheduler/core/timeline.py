"""When places and quota come free at the latest, by the limits of what runs."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

import numpy as np

from scheduler.core.board import Board, Tally
from scheduler.core.model import Fact, Running
from scheduler.core.quota import Books
from scheduler.core.tree import Depth, Ints

HORIZON = timedelta(days=30)  # a date further ahead is worthless
GRIDS = ((10, 1), (120, 5), (24 * 60, 30))  # up to so many minutes, round up to so many
DAY = 24 * 60
NOW = -1  # needs no end


class Timeline:
    """The ends that limits promise, in order. A run without a limit promises nothing."""

    def __init__(self, running: Sequence[Running], *, taken_at: datetime, start: Board, books: Books) -> None:
        dated = [(run.ends_by, run.job, run) for run in running if run.ends_by is not None]
        self._ends = sorted(dated, key=lambda end: end[:2])
        self._taken_at = taken_at
        self._start = start
        self._books = books

    def room(self, kinds: Sequence[str], nodes: int, gpus: int) -> dict[str, Fact]:
        """Which end makes room for a gang of this shape at the latest; empty where no limit says so."""
        waits = [self._room[kind] for kind in kinds]
        ends = [int(wait[nodes - 1, gpus]) for wait in waits if nodes <= len(wait) and gpus < wait.shape[1]]
        return self._numbers(min(ends, default=len(self._ends)))

    def quota(self, team: str, kind: str, gpus: int) -> dict[str, Fact]:
        """Which end brings the team so many GPUs of quota back at the latest."""
        freed, ends = self._quota.get((team, kind), ([], []))
        at = bisect_left(freed, gpus)
        return self._numbers(ends[at] if at < len(ends) else len(self._ends))

    def _numbers(self, end: int) -> dict[str, Fact]:
        if end in (NOW, len(self._ends)) or self._ends[end][0] - self._taken_at > HORIZON:
            return {}
        at, job, _ = self._ends[end]
        return {"ends_job": job, "ends_by": at.isoformat(), "ends_in_min": about_minutes(at - self._taken_at)}

    @cached_property
    def _room(self) -> dict[str, Ints]:
        """By type: [n - 1, g] is the number of the end after which one cluster has n nodes with g free."""
        return {kind: self._nth_node(tally) for kind, tally in self._start.tallies.items()}

    def _nth_node(self, tally: Tally) -> Ints:
        after = self._ends_until_free(tally)
        first = [*tally.tree.levels[Depth.CLUSTER].first_node.tolist(), len(after)]
        best = np.full_like(after, len(self._ends))
        for low, high in pairwise(first):
            best[: high - low] = np.minimum(best[: high - low], np.sort(after[low:high], axis=0))
        return best

    def _ends_until_free(self, tally: Tally) -> Ints:
        """[position, g]: the number of the end after which the node has g free."""
        free = tally.node_free.copy()
        never = len(self._ends)
        after = np.where(free[:, None] >= np.arange(tally.tree.width + 1), NOW, never).astype(np.int64)
        for number, (_, _, run) in enumerate(self._ends):
            for node in run.nodes:
                position = tally.tree.position.get(node)
                if position is None or not tally.tree.nodes[position].usable:
                    continue
                had = int(free[position])
                has = min(had + run.gpus // len(run.nodes), tally.tree.nodes[position].gpus)
                free[position] = has
                after[position, had + 1 : has + 1] = number
        return after

    @cached_property
    def _quota(self) -> dict[tuple[str, str], tuple[list[int], list[int]]]:
        """By team and type: the GPUs freed so far after each of its ends, and the numbers of those ends."""
        freed: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for number, (_, _, run) in enumerate(self._ends):
            for level in self._books.levels(run.team):
                sums, ends = freed.setdefault((level.name, run.gpu_type), ([], []))
                sums.append((sums[-1] if sums else 0) + run.gpus)
                ends.append(number)
        return freed


def about_minutes(wait: timedelta) -> int:
    """Round up, so that "at the latest" stays true and a verdict changes only when its words do."""
    minutes = max(1, -(-wait // timedelta(minutes=1)))
    step = next((step for limit, step in GRIDS if minutes <= limit), DAY)
    return -(-minutes // step) * step
