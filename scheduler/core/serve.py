"""In fair order: each job starts, sends others away by the rules, or is promised a place and a time."""

from dataclasses import replace
from math import inf

from scheduler.core.called import future_for
from scheduler.core.line import Line
from scheduler.core.making import make_way
from scheduler.core.model import Job, Promise
from scheduler.core.recall import due_at, guarded_from
from scheduler.core.risk import harmless, outlives
from scheduler.core.table import Table
from scheduler.core.thinkable import Thinkable

FORGET_S = 1.0  # a promise that is due is made anew


def serve(table: Table) -> Line:
    """Those whose age protects them first, then the line; who cannot be served waits for the fill."""
    line = Line(table)
    turns = Turns(table, line)
    for job in line.aged:
        turns.serve(job)
    turns.blocked = False  # who is old may be blocked; that stops nobody at the head of the line
    for job in line.order:
        if job.id not in table.settled:
            turns.serve(job)
    return line


class Turns:
    """What one pass down the line remembers."""

    def __init__(self, table: Table, line: Line) -> None:
        self.line, self.blocked = line, False  # blocked: somebody before has found no place
        self.table, self.policy, self.now = table, table.policy, table.now
        self.thinkable = Thinkable(table.snap)
        self.before = {promise.job: promise for promise in table.snap.promises}
        self.hopeless: set[tuple[object, ...]] = set()  # no way can be made for these
        self.looked = 0  # for how many a place and a time was looked for

    def serve(self, job: Job) -> None:
        """Start it, make way for it, or promise it a place while there are promises left."""
        if not self.line.admits(job):
            return
        in_turn = self._in_turn(job)
        if in_turn:
            fit = harmless(self.table, job)
            if fit is not None:
                self.table.start(job, fit)
                return
        if self._make_way(job):
            return
        if not self.blocked and self.table.kinds(job, job.request.least):
            self.blocked = True
            self.line.stood_aside = self.line.stood_aside or not in_turn
        if self.looked < self.policy.reservation_depth and job.id not in self.table.promises:
            self._promise(job)

    def _in_turn(self, job: Job) -> bool:
        """Behind the first that finds no place, what has no limit is left to the fill, the quickest first.

        So is what made way for others and has no limit: it had its turn, and will probably run long.
        """
        if self._promises_left(job) or self.now >= due_at(job, self.policy):
            return True
        return not self.blocked and not (job.stops and job.limit_s is None)

    def _promises_left(self, job: Job) -> bool:
        """With a limit it is planned like those before it: now, or with a promise."""
        return job.limit_s is not None and self.looked < self.policy.reservation_depth

    def _make_way(self, job: Job) -> bool:
        due = self.now >= due_at(job, self.policy)
        table = self.table
        loan = (job.preemptible, table.lending.to(job))
        key = (job.request, job.team, job.tier, due, loan, outlives(table, job))
        if key in self.hopeless:
            return False
        if self.thinkable.by_rule(job, due=due) and make_way(table, job):
            return True
        self.hopeless.add(key)
        return False

    def _promise(self, job: Job) -> None:
        table = self.table
        protected = self.now >= guarded_from(job, self.policy)
        kept = self.before.get(job.id)
        if kept is not None and self._holds(kept, job):
            self.looked += 1
            table.promise(job, kept.at, kept.seats, protected=protected, certain=False)
            return
        kinds = table.kinds(job, job.request.gpus)
        if not kinds:
            return
        request = table.narrow(job.request, kinds)
        self.looked += 1
        future = future_for(table, job) if protected else table.future
        slot = future.earliest(replace(job, request=request), table.booked_s(job), table.burden)
        if job.id in future.ran_out:
            table.exhausted.add(job.id)
        if slot is not None and slot.at > self.now:  # who fits now and waits for the fill needs no promise
            table.promise(job, slot.at, slot.placement.seats, protected=protected, certain=slot.certain)

    def _holds(self, kept: Promise, job: Job) -> bool:
        """A plan that rests on forecasts is kept until its time has come: they change with every look."""
        future = self.table.future
        if kept.at <= self.now + FORGET_S or kept.at < future.forecast_from:
            return False
        if not all(seat.node in self.table.layout.row for seat in kept.seats):
            return False
        usable = future.is_open(kept.seats, kept.at, kept.at + self.table.booked_s(job))
        return usable and not future.clashes(kept.seats, inf)
