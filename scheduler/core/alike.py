"""Jobs that are alike: thousands of waiting jobs are a few kinds, and one answer holds for all of a kind."""

from itertools import takewhile

from scheduler.core.limited import Limited
from scheduler.core.model import Job
from scheduler.core.recall import due_at, reaches
from scheduler.core.table import Table


class Alike:
    """Numbers the kinds of jobs by all that a reason depends on when the round is over."""

    def __init__(self, table: Table, limited: Limited) -> None:
        self._table, self._limited = table, limited
        self._numbers: dict[tuple[object, ...], int] = {}
        protected = (one for one in table.promises.values() if one.protected)
        self._due = sorted(due_at(table.waiting[one.job], table.policy) for one in protected)

    def number(self, job: Job) -> int:
        """From 0; of a job that quota refuses, nothing matters but what quota looks at."""
        key = self._limited.key(job)
        if self._limited.kinds(job, key):
            key = (key, *self._stance(job))
        numbers = self._numbers
        return numbers.setdefault(key, len(numbers))

    def _stance(self, job: Job) -> tuple[object, ...]:
        """How long it may hold a place, who could call it back, and which protected promises it would outlast."""
        table, policy = self._table, self._table.policy
        can_go = job.preemptible and job.stops < policy.max_recalls
        hopes = table.wishes.would_bind(job)
        outlasts = self._outlasts(job) if self._due else 0
        return job.tier, job.limit_s, can_go, hopes, outlasts

    def _outlasts(self, job: Job) -> int:
        return sum(1 for _ in takewhile(lambda moment: reaches(job, moment, self._table.now), self._due))
