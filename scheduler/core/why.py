"""Why a job does not start: the first reason of the closed list that holds, with its numbers."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from scheduler.core.about import stamp, under_minutes, whole_minutes
from scheduler.core.alike import Alike
from scheduler.core.blame import Asked, Blame, down_nodes
from scheduler.core.board import Board
from scheduler.core.ends import Ends
from scheduler.core.ground import Ground
from scheduler.core.ladder import Closure, Ladder, Wanted, beside_starts, claimed, planned
from scheduler.core.limited import Because, Limited
from scheduler.core.model import Fact, Facts, Job, Moment, Tier
from scheduler.core.possible import Possible, smallest
from scheduler.core.reasons import Reason
from scheduler.core.risk import binding
from scheduler.core.shortage import lever, shortage
from scheduler.core.silence import Silence
from scheduler.core.table import Table
from scheduler.core.tree import Depth

BEFORE_BLAME = (Reason.UNREACHABLE, Reason.MAINTENANCE)
NOBODY: frozenset[int] = frozenset()


class Answer(NamedTuple):
    """A reason with its numbers, and the numbers for those who have somebody ahead of them."""

    reason: Reason
    first: Facts
    behind: Facts


class Inquiry:
    """What a round knows about the jobs that it did not start; each kind of job is looked at once."""

    def __init__(self, table: Table, possible: Possible, line: Sequence[Job], *, evidence: bool) -> None:
        self._table, self._policy = table, table.policy
        self.ends = Ends(table) if evidence else None
        self._limited = Limited(table, possible, self.ends)
        self._silence = Silence(table.layout.nodes)
        self._began = Board(table.layout, table.snap.free, table.burden)  # as the round began
        self._began.meter = table.board.meter
        self._began.take(table.spares)
        self._beside = beside_starts(table) if table.claims else table.board
        self._claims = Ladder(self._beside, claimed(table))
        self._ladders: dict[tuple[Closure, ...], Ladder] = {}
        self._begins = sorted(window.begins for window in table.snap.windows)
        self._took = _took(table)
        self._down = down_nodes(table)
        self._answers: dict[Asked, Because | Closure] = {}
        self._places: dict[int, Asked | None] = {}
        alike = Alike(table, self._limited)
        self.kinds = [
            alike.number(job) for job in line
        ]  # one answer for each, but for those of whom more is known
        self.blamed = Blame(table, possible).walk(line, self.kinds, self.asked) if self._down else NOBODY

    def answer(self, job: Job, kind: int) -> Answer:
        """Ask in the order of the list; the first answer counts."""
        asked = self.asked(job, kind)
        if asked is None:
            return _alike(*self._limited.refusal(job))
        found = self._by_place(asked, job)
        reason, numbers = self._closed(asked.wanted, found, job) if isinstance(found, Closure) else found
        if reason is Reason.NOT_REACHED and (pledged := self._pledged(asked.wanted, job)) is not None:
            reason, numbers = pledged
        if job.id in self.blamed and reason not in BEFORE_BLAME:
            reason, numbers = Reason.CAPACITY_DOWN, self._capacity_down(asked.wanted)
        behind = {**numbers, "others_ahead": 1} if "ends_in_min" in numbers else numbers
        return Answer(reason, numbers, behind)

    def asked(self, job: Job, kind: int) -> Asked | None:
        """The place it wants; None = quota refuses it. Nobody of its kind stands in the way of himself."""
        if job.id in self._table.promises:
            return self._asked(job)
        if kind not in self._places:
            self._places[kind] = self._asked(job)
        return self._places[kind]

    def _asked(self, job: Job) -> Asked | None:
        kinds = self._limited.kinds(job)
        if not kinds:
            return None
        table = self._table
        wanted = Wanted(
            table.narrow(job.request, kinds),
            kinds,
            smallest(job.request),
            Tier.PRODUCTION if job.tier is Tier.PRODUCTION else Tier.STANDARD,
            not table.wishes.would_bind(job),
        )
        return Asked(wanted, binding(table, job), self._shuts(job))

    def _shuts(self, job: Job) -> Moment:
        """Windows that begin before then are closed to it: the begin of the first that is not."""
        at = bisect_left(self._begins, self._table.now + self._table.lasts_s(job)) if self._begins else 0
        return self._begins[at] if at < len(self._begins) else inf

    def _by_place(self, asked: Asked, job: Job) -> Because | Closure:
        if asked not in self._answers:
            if self._budget_spent and job.id not in self._table.promises:
                return self._not_reached()
            self._answers[asked] = self._look(asked)
        return self._answers[asked]

    @property
    def _budget_spent(self) -> bool:
        """A queue in which no two jobs are alike: behind the head, who comes late is not looked at in this round."""
        return len(self._answers) >= max(1, self._policy.backfill_depth)

    def _look(self, asked: Asked) -> Because | Closure:
        wanted, bound, until = asked
        silent = self._silence.around(self._grounds(wanted))
        if silent is not None:
            return Reason.UNREACHABLE, silent
        if wanted.fits(self._beside, self._policy):
            closed = self._blocker(asked)
            return self._not_reached() if closed is None else closed
        if wanted.fits(self._began, self._policy):
            return Reason.ORDER, self._order(wanted)
        reason, numbers = shortage(self._began, wanted, self._policy)
        if reason is Reason.FULL and (spare := self._spare(str(numbers["gpu_type"]))):
            numbers = {**numbers, "spare": spare}
        if self.ends is None:
            return reason, numbers
        change = lever(self._table.clear_of(bound, until), wanted, self._policy)
        return reason, {**numbers, **self.ends.place(wanted), **change}

    def _blocker(self, asked: Asked) -> Closure | None:
        """What leaves no place of all that is free beside the starts; None = nothing does."""
        wanted, bound, until = asked
        made = self._claims.blocker(wanted, self._policy)
        if made is not None:
            return made
        closures = tuple(planned(self._table, bound, until))
        if closures not in self._ladders:
            self._ladders[closures] = Ladder(self._table.board, closures)
        return self._ladders[closures].blocker(wanted, self._policy)

    def _closed(self, wanted: Wanted, closed: Closure, job: Job) -> Because:
        """A window keeps it out, or a place that is made or planned for somebody else."""
        table, limit_s = self._table, self._table.lasts_s(job)
        numbers: dict[str, Fact] = {
            "asked": wanted.gpus,
            "limit_min": 0 if limit_s == inf else whole_minutes(limit_s),
            **self._shorter(wanted, closed, job),
        }
        if closed.what == "window":
            window = table.snap.windows[closed.number]
            ahead = window.begins > table.now
            moment = {"begins": stamp(window.begins)} if ahead else {"ends": stamp(window.ends)}
            return Reason.MAINTENANCE, numbers | moment | ({"window": window.name} if window.name else {})
        numbers |= {"for_job": closed.number, "free": self._free(wanted)}
        return Reason.RESERVED, numbers | ({"at": stamp(closed.begins)} if closed.what == "promise" else {})

    def _pledged(self, wanted: Wanted, job: Job) -> Because | None:
        """It would fit, but somebody whose place is being made needs the quota; None = nobody does."""
        broken = self._table.pledges.broken
        found = next(filter(None, (broken(job, kind, wanted.gpus) for kind in wanted.kinds)), None)
        if found is None:
            return None
        limit_s = self._table.lasts_s(job)
        limit_min = 0 if limit_s == inf else whole_minutes(limit_s)
        numbers: Facts = {
            "asked": wanted.gpus,
            "limit_min": limit_min,
            "for_job": found.id,
            "free": self._free(wanted),
        }
        return Reason.RESERVED, numbers

    def _shorter(self, wanted: Wanted, closed: Closure, job: Job) -> dict[str, Fact]:
        """The limit with which it would start now, if there is one: tried, for a limit may bind it elsewhere."""
        table = self._table
        minutes = under_minutes(closed.begins - table.now)
        if not minutes or self.ends is None:
            return {}
        shorter = replace(job, limit_s=60.0 * minutes - 1)
        board = table.clear_of(binding(table, shorter), table.now + table.lasts_s(shorter))
        return {"fits_min": minutes} if wanted.fits(board, self._policy) else {}

    def _spare(self, kind: str) -> int:
        """GPUs of this type that are free and kept for gangs that lose a node."""
        table = self._table
        return sum(len(seat.slots) for seat in table.spares if table.kind_of((seat,)) == kind)

    def _free(self, wanted: Wanted) -> int:
        """GPUs that are free beside what starts, of the type that has the most of them in one place."""
        return max(self._beside.tally(ground).most_free(Depth.CLUSTER) for ground in self._grounds(wanted))

    def _grounds(self, wanted: Wanted) -> Sequence[Ground]:
        return self._table.layout.query(
            wanted.request, wanted.gpus, tier=wanted.tier, policy=self._policy, relaxed=wanted.relaxed
        ).grounds

    def _order(self, wanted: Wanted) -> Facts:
        took = [self._took[kind] for kind in wanted.kinds if kind in self._took]
        jobs, gpus = (sum(counts) for counts in zip(*took, strict=True)) if took else (0, 0)
        return {"asked": wanted.gpus, "took_jobs": jobs, "took_gpus": gpus}

    def _capacity_down(self, wanted: Wanted) -> Facts:
        down = sum((self._down[kind] for kind in wanted.kinds if kind in self._down), Counter[str]())
        return {
            "asked": wanted.gpus,
            "down_nodes": down.total(),
            **{state: down[state] for state in sorted(down)},
            **(self.ends.place(wanted) if self.ends else {}),
        }

    def _not_reached(self) -> Because:
        return Reason.NOT_REACHED, {"waiting": len(self._table.snap.waiting)}


def _alike(reason: Reason, numbers: Facts) -> Answer:
    return Answer(reason, numbers, numbers)


def _took(table: Table) -> dict[str, tuple[int, int]]:
    """What starts in this round, by GPU type: jobs and GPUs."""
    took: dict[str, tuple[int, int]] = {}
    for start in table.starts:
        kind = table.kind_of(start.seats)
        jobs, gpus = took.get(kind, (0, 0))
        took[kind] = jobs + 1, gpus + sum(len(seat.slots) for seat in start.seats)
    return took
