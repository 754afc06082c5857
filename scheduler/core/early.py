"""Early recall: younger work makes way before an older job is due, where those who wait gain more than it loses."""

from collections.abc import Iterable

import numpy as np

from scheduler.core.line import Line
from scheduler.core.making import harm_s, recall_early
from scheduler.core.model import Job
from scheduler.core.recall import due_at
from scheduler.core.risk import outlives
from scheduler.core.table import Table
from scheduler.core.thinkable import Thinkable


def call_back(table: Table, line: Line) -> None:
    """In fair order: for whoever went on waiting after everything that harms less was tried."""
    thinkable, hopeless = Thinkable(table.snap), set[tuple[object, ...]]()
    if not thinkable.long:
        return
    gain = Gain((job for job in line.open if job.id not in table.settled), table)
    for job in line.order:
        if table.rules.stops_left <= 0 or table.spent:
            return
        alike = (job.preemptible, table.lending.to(job), outlives(table, job))
        # Who comes later gains no more and finds no more to stop.
        key = (job.request, job.team, job.tier, alike)
        if job.id in table.settled or key in hopeless or not thinkable.early(job) or _had_turn(table, job):
            continue
        gain_s = gain.of(job)
        worth = gain_s >= table.policy.recall_worth * harm_s(job, 0.0)  # for the least harm there is
        if not (worth and line.admits(job) and recall_early(table, job, gain_s)):
            hopeless.add(key)


def _had_turn(table: Table, job: Job) -> bool:
    """Who ran long already will probably run long again; for who is due its place was sought before."""
    return job.seen_s > table.policy.recall_after_s or table.now >= due_at(job, table.policy)


class Gain:
    """By size: how long those would wait together who could use a place of that size one after the other.

    Nobody knows how long they would: as long again as they have waited, or until a start that limits prove.
    """

    def __init__(self, waiting: Iterable[Job], table: Table) -> None:
        fresh = sorted((job.request.gpus, _wait_s(job, table)) for job in waiting if not job.seen_s)
        self._sizes = np.array([size for size, _ in fresh], dtype=np.int64)
        self._sums = np.cumsum([0.0, *(wait for _, wait in fresh)])  # of the smallest so many
        self._known: dict[int, float] = {}

    def of(self, job: Job) -> float:
        """In seconds of waiting, of all who ask for as many GPUs as this one or for at least half of them."""
        gpus = job.request.gpus
        if gpus not in self._known:
            # Whole numbers only: for a half the whole array would be turned into floats first.
            first, last = np.searchsorted(self._sizes, ((gpus + 1) // 2, gpus + 1)).tolist()
            self._known[gpus] = float(self._sums[last] - self._sums[first])
        return self._known[gpus]


def _wait_s(job: Job, table: Table) -> float:
    waited = table.now - job.submitted_at
    promise = table.promises.get(job.id)
    return waited if promise is None or job.id not in table.certain else min(waited, promise.at - table.now)
