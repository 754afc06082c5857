"""Who may be stopped for whom: the rules of stopping as one table, least harm first."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum

from scheduler.core.cover import Cover, Pot
from scheduler.core.lineage import CLUSTER
from scheduler.core.model import Job, Running, Snapshot, Tier
from scheduler.core.promise import may_lend
from scheduler.core.quota import Books
from scheduler.core.verbs import Why

MANY = 1 << 30


class Spared(StrEnum):
    """Why a run may not be stopped for a job."""

    STOPPING = "stopping"  # it has been asked already
    BROKEN = "broken"  # it has just lost a place and is being mended
    NOT_PREEMPTIBLE = "not_preemptible"
    MINIMUM_RUNTIME = "minimum_runtime"
    STOPPED_TODAY = "stopped_today"  # as often as a job may be in a day
    USER_STOPPED_TODAY = "user_stopped_today"
    IMMUNE = "immune"  # recalled as often as a job may be at all
    COVERED = "covered"  # its team's nominal covers it, or no rule reaches it


class Rules:
    """What the rules need to know, as far as the plan has come: tell it every start and every stop."""

    def __init__(self, snap: Snapshot, books: Books) -> None:
        self.now, self.policy = snap.taken_at, snap.policy
        self.books, self.lineage = books, books.lineage
        self.one_team = not snap.teams
        self.cover = Cover(books.lineage, snap.running)
        self.user_stops = Counter(snap.user_stops)
        self.stops = 0  # in this round so far
        self.broken = frozenset(one.job for one in snap.lost)
        self.young_s = {tier: snap.policy.min_runtime_s[tier.word] for tier in Tier}
        self.user_most = snap.policy.max_user_stops_per_day

    def on(self, books: Books) -> "Rules":
        """The same with other books: for what-if."""
        twin = copy(self)
        twin.books = books
        return twin

    def for_promises(self) -> "Rules":
        """The same where a promise would be broken otherwise: it outranks the care for one user."""
        twin = copy(self)
        twin.user_most = MANY
        return twin

    def in_time(self) -> "Rules":
        """The same when everybody has had the minimum runtime."""
        twin = copy(self)
        twin.young_s = dict.fromkeys(self.young_s, 0.0)
        return twin

    def after(self, stops: Iterable[Running]) -> "Rules":
        """The same with these stopped, books and all: for what-if."""
        twin = copy(self)
        twin.books, twin.cover, twin.user_stops = self.books.copy(), self.cover.copy(), self.user_stops.copy()
        for run in stops:
            twin.books.gone(run)
            twin.stopped(run)
        return twin

    def started(self, job: Job | Running, kind: str, gpus: int, *, coming: bool = False) -> None:
        """A start of this plan, or (coming) one for which a place is being made. The books are the caller's."""
        self.cover.add(job.team, kind, job.tier, gpus, coming=coming)

    def stopped(self, run: Running) -> None:
        """A stop of this plan. The books are the caller's."""
        self.cover.remove(run.team, run.gpu_type, run.tier, run.gpus)
        self.user_stops[run.user] += 1
        self.stops += 1

    @property
    def stops_left(self) -> int:
        """How many more may be asked in this round. One place alone may need more, or it would never be made."""
        most = self.policy.max_stops_per_cycle
        return most - self.stops if self.stops or not most else MANY

    def user_left(self, user: str) -> int:
        """How many more stops a user may suffer today; what belongs to nobody has no such limit."""
        most = self.user_most
        return most - self.user_stops.get(user, 0) if user else max(1, most)

    def may_spare(self, stops: int) -> bool:
        """Whether so many stops could be too many for one user."""
        return self.user_most - max(self.user_stops.values(), default=0) < stops


@dataclass(frozen=True, slots=True)
class Judged:
    """What the rules say of one run; where there are guards each of those pots must stay as full as it is."""

    answer: Why | Spared
    guards: tuple[Pot, ...] = ()


class Case:
    """A job that needs a place of one GPU type, as the rules see it."""

    def __init__(self, job: Job, kind: str, rules: Rules, *, gpus: int = 0, recall: bool = False) -> None:
        self.job, self.kind, self.rules = job, kind, rules
        self.gpus = gpus or job.request.gpus
        self.recall = recall  # its protected reservation is due: what started on recall makes way
        self.own = rules.cover.own(job.team, kind)
        self._known: dict[tuple[object, ...], Judged] = {}
        self._owed: dict[str, bool] = {}  # by team
        self._inside: dict[str | None, bool] = {}  # by the team where both meet: there are far fewer
        self._guards: dict[str, tuple[Pot, ...]] = {}

    def judge(self, run: Running) -> Judged:
        """The first line that holds: what bars every stop, then the rules."""
        spared = barred(run, self.rules)
        if spared is not None:
            return Judged(spared)
        # Thousands of runs are a few dozen cases: this is all that the rules look at.
        key = (run.team, run.tier, run.gpus, self.fresh(run), self.recall and self.ran_ahead(run))
        if key not in self._known:
            self._known[key] = self._by_rule(run)
        return self._known[key]

    def judge_all(
        self, kin: Sequence[Running], only: Callable[[Running], bool] | None = None
    ) -> Iterator[tuple[Running, Judged]]:
        """What the rules say of runs of one team, tier and size, where nothing bars them that has not begun just now.

        One answer for all of them, unless it depends on who came first; who is spared is told once.
        """
        if not kin:
            return
        if self.recall and kin[0].tier == self.job.tier:
            yield from ((run, self.judge(run)) for run in kin if only is None or only(run))
            return
        judged = self.judge(kin[0])
        if isinstance(judged.answer, Spared):
            yield kin[0], judged
            return
        yield from ((run, judged) for run in kin if only is None or only(run))

    def _by_rule(self, run: Running) -> Judged:
        for why, guarded in RULES:
            guards = guarded(self, run)
            if guards is not None:
                return Judged(why, guards)
        immune = self.recall and self.ran_ahead(run) and not self.fresh(run)
        return Judged(Spared.IMMUNE if immune else Spared.COVERED)

    def same_team(self, run: Running) -> bool:
        """Without teams everybody is one team."""
        return self.rules.one_team or run.team == self.job.team

    def fresh(self, run: Running) -> bool:
        """Not yet stopped so often that it is immune."""
        return run.stops < self.rules.policy.max_recalls

    def ran_ahead(self, run: Running) -> bool:
        """It started ahead of an older job of its tier, and no limit ends it as soon as a recall would."""
        job, rules = self.job, self.rules
        younger = (run.submitted_at, run.job) > (job.submitted_at, job.id)
        harmless = run.ends_by is not None and run.ends_by <= rules.now + rules.policy.grace_s
        # The older one was running; what happened first in one instant nobody can tell.
        beside = job.ran_until is not None and run.started_at <= job.ran_until
        return run.tier == job.tier and younger and not (harmless or beside)

    def may_start(self, books: Books) -> bool:
        """Whether quota would let it start with these books."""
        returns, firm = may_lend(self.job, self.rules.policy), not self.job.preemptible
        return books.standing(self.job.team, self.kind, self.gpus, returns=returns, firm=firm).starts

    def may_stay(self) -> bool:
        """Whether it may not be stopped, and what would not be back of its team leaves it room in the nominal."""
        firm = not self.job.preemptible and self.own is not None
        return firm and self.rules.books.lasts(self.job.team, self.kind, self.gpus)

    def may_be_owed(self) -> bool:
        """Whether it is inside what its own team was promised: else nobody owes it anything."""
        return self.own is not None and self.gpus <= self.rules.books.room(self.job.team, self.kind)

    def is_promised(self) -> bool:
        """Whether its team was promised these GPUs within a stated time."""
        return self.may_be_owed() or self.may_stay()

    def is_owed(self, run: Running) -> bool:
        """The job stays inside what its team was promised, up to where both teams meet."""
        if run.team not in self._owed:
            meeting = self.rules.books.meeting(run.team, self.job.team)
            if meeting not in self._inside:
                inside = self.rules.books.stays_inside(self.job.team, self.kind, self.gpus, meeting)
                self._inside[meeting] = self.own is not None and inside
            self._owed[run.team] = self._inside[meeting]
        return self._owed[run.team]

    def spare(self, run: Running) -> tuple[Pot, ...] | None:
        """The pots that would be as full without this run; None = it is part of what some promise covers."""
        pots, gone = self._guards.get(run.team), (run.gpus,)
        if pots is None:
            meeting = self.rules.books.meeting(run.team, self.job.team)
            until = CLUSTER if meeting is None else self.rules.lineage.path(meeting)[0]
            pots = self._guards[run.team] = self.rules.cover.guards(run.team, self.kind, until)
        return pots if all(pot.spares(run.tier, gone) for pot in pots) else None


def barred(run: Running, rules: Rules) -> Spared | None:
    """What bars every stop of this run now, whatever the rule; a move is a stop too."""
    if run.stopping:
        return Spared.STOPPING
    if run.job in rules.broken:
        return Spared.BROKEN
    if not run.preemptible:
        return Spared.NOT_PREEMPTIBLE
    if rules.now - run.started_at < rules.young_s[run.tier]:
        return Spared.MINIMUM_RUNTIME
    if run.stops_today >= rules.policy.max_preemptions_per_day:
        return Spared.STOPPED_TODAY
    return Spared.USER_STOPPED_TODAY if rules.user_left(run.user) <= 0 else None


def _reclaimed(case: Case, run: Running) -> tuple[Pot, ...] | None:
    """Another team's work above its promise goes for a job inside its own, whatever the tiers."""
    return None if case.same_team(run) or not case.is_owed(run) else case.spare(run)


def _recalled(case: Case, run: Running) -> tuple[Pot, ...] | None:
    """For an older job; at most so many times, then it is immune. Never what another team's promise covers."""
    if not (case.recall and case.ran_ahead(run) and case.fresh(run)):
        return None
    return () if case.same_team(run) else case.spare(run)


def _preempted(case: Case, run: Running) -> tuple[Pot, ...] | None:
    """Only a strictly lower tier; in another team only opportunistic work."""
    if run.tier >= case.job.tier:
        return None
    if case.same_team(run):
        return _preempted_at_home(case, run)
    if run.tier is not Tier.OPPORTUNISTIC:
        return None
    return () if case.is_owed(run) else case.spare(run)


def _preempted_at_home(case: Case, run: Running) -> tuple[Pot, ...] | None:
    """Any lower tier of its own team, but a team may not throw away what its promise covers again and again."""
    if case.own is None or case.own.gains(case.job.tier, case.gpus):
        return ()
    spare = case.spare(run)
    return () if spare is None and case.fresh(run) else spare


# The rules, least harm first. Each gives the pots that guard the run (often none), or None: it does not apply.
RULES: tuple[tuple[Why, Callable[[Case, Running], tuple[Pot, ...] | None]], ...] = (
    (Why.RECLAIMED, _reclaimed),
    (Why.RECALLED, _recalled),
    (Why.PREEMPTED, _preempted),
)


def may_stop(run: Running, case: Case) -> Why | None:
    """By which rule this run may be stopped for that job, taken alone; None = by none."""
    answer = case.judge(run).answer
    return answer if isinstance(answer, Why) else None
