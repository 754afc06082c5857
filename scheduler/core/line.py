"""The line: who may be considered at all, in fair order, and who is shut out for which reason."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from math import inf

from scheduler.core.model import Facts, Gate, Job
from scheduler.core.order import FairLine
from scheduler.core.possible import Possible
from scheduler.core.reasons import Reason
from scheduler.core.recall import guarded_from
from scheduler.core.table import Table


class Line:
    """Everybody who waits: shut out, or at one place of the order."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.stood_aside = False  # who had its turn was the first to be left to the fill
        self.not_reached = False  # the fill looked at as many as it may
        self.shut: dict[int, tuple[Reason, Facts]] = {}
        self.possible = possible = Possible(table.layout, table.books, table.policy)
        self.open: list[Job] = []
        for job in table.snap.waiting:
            if job.id in table.settled:  # started, or its place is being made
                continue
            never = possible.obstacle(job)
            gate = job.gate or table.allowed.gate(job)
            if never is not None:
                self.shut[job.id] = Reason.IMPOSSIBLE, never
            elif gate is not None:
                self.shut[job.id] = gate.reason, _told(gate)
            else:
                self.open.append(job)
        books = table.books.copy()
        # As if everybody in it started in turn: who asks for much falls back as if he had it.
        fair = FairLine(table.snap, books, self.open)
        self.order = list(fair.in_turn(lambda job: next(iter(table.accepted(job)), "")))

    def admits(self, job: Job) -> bool:
        """Whether the policy lets it start at its turn: others of its user may have started meanwhile."""
        gate = self._table.allowed.gate(job)
        if gate is not None:
            self.shut[job.id] = gate.reason, _told(gate)
        return gate is None

    @cached_property
    def aged(self) -> list[Job]:
        """Those who have waited so long that they are promised a place before all others."""
        policy, now = self._table.policy, self._table.now
        old = [job for job in self.open if now >= guarded_from(job, policy)]
        return sorted(old, key=lambda job: (job.submitted_at, job.id))

    def quickest(self) -> Iterator[Job]:
        """The same line for the fill: at each place the same person's job, but the quickest of them first."""
        rest = [job for job in self.order if job.id not in self._table.settled]
        mine: dict[tuple[int, str, str], list[Job]] = defaultdict(list)
        for job in reversed(rest):  # so that of equally quick ones the first in line is taken first
            mine[job.tier, job.team, job.user].append(job)
        for jobs in mine.values():
            jobs.sort(key=lambda job: -(inf if job.forecast_s is None else job.forecast_s))
        for job in rest:
            yield mine[job.tier, job.team, job.user].pop()


def _told(gate: Gate) -> Facts:
    return gate.numbers if gate.until is None else {**gate.numbers, "until": gate.until}
