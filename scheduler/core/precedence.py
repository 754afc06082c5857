"""By which rule those who start in this round come before those who go on waiting, as the snapshot shows it."""

from collections.abc import Sequence
from functools import cached_property
from math import isfinite

from scheduler.core.model import Fact, Facts, Job
from scheduler.core.order import FairLine
from scheduler.core.quota import Books
from scheduler.core.rule import Rule
from scheduler.core.table import Table

TURNS: Facts = {"rule": "turns"}  # nothing but the line itself tells them apart
SOONER: Facts = {"rule": "quick"}


class Precedence:
    """Each person's jobs are compared once with the first of those that start."""

    def __init__(self, table: Table, order: Sequence[Job]) -> None:
        self._table, self._order = table, order
        self._known: dict[tuple[object, ...], Facts] = {}
        self._nearest: dict[tuple[str, ...], int] = {}

    def with_rule(self, job: Job, place: int, numbers: Facts) -> Facts:
        """The numbers of the job at this place of the line, with the rule and its figures."""
        first = self._before(job)
        key = (job.team, job.user, job.tier, first, first > place, *numbers.values())
        if key not in self._known:
            rule = TURNS if first < 0 else SOONER if first > place else self._rule(job, first)
            self._known[key] = {**numbers, **rule}
        return self._known[key]

    @cached_property
    def _first(self) -> dict[str, int]:
        """By GPU type: the place in line of the first that starts on it; who had a place before has none there."""
        starts = {start.job: self._table.kind_of(start.seats) for start in self._table.starts}
        found: dict[str, int] = {}
        for place, job in enumerate(self._order):
            if job.id in starts:
                found.setdefault(starts[job.id], place)
        return found

    def _before(self, job: Job) -> int:
        """The place of the first that starts on GPUs which this one accepts; -1 = nobody in the line does."""
        types = job.request.gpu_types
        if types not in self._nearest:
            places = [self._first[kind] for kind in self._table.accepted(job) if kind in self._first]
            self._nearest[types] = min(places, default=-1)
        return self._nearest[types]

    def _rule(self, job: Job, first: int) -> Facts:
        theirs = self._order[first]
        rule = self._fair.rule(job, theirs)
        if not _explains(rule, job, theirs):
            return TURNS
        told: dict[str, Fact] = {"rule": rule.by}
        if rule.by in ("team", "user"):
            told |= {"ours": rule.ours, "theirs": rule.theirs}
            told |= {"our_times": _figure(rule.our_times), "their_times": _figure(rule.their_times)}
        return told

    @cached_property
    def _fair(self) -> FairLine:
        """Everybody as they stood before anything was planned: one job for each person is enough."""
        table = self._table
        books = Books(table.books.lineage, table.books.capacity, table.snap.running)
        people = {(job.team, job.user): job for job in reversed(self._order)}
        return FairLine(table.snap, books, people.values())


def _explains(rule: Rule, job: Job, theirs: Job) -> bool:
    """Whether it speaks for the one that starts; the line has further rules, and people take turns in it."""
    match rule.by:
        case "tier":
            return theirs.tier > job.tier
        case "quota":
            return rule.theirs == "inside"
        case "team" | "user":
            return _figure(rule.our_times) != _figure(rule.their_times) and rule.our_times > rule.their_times
        case "submitted":
            return theirs.submitted_at < job.submitted_at
        case _:
            return False


def _figure(times: float) -> float | str:
    return round(times, 1) if isfinite(times) else "none"
