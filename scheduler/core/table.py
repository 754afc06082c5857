"""The table at which a plan is made: what is decided so far, and what is left of places and quota."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import NamedTuple

from scheduler.core.allowed import Allowed, effective_limit
from scheduler.core.board import Board, Placement
from scheduler.core.boards import Boards
from scheduler.core.burden import Burden
from scheduler.core.capacity import outside, usable
from scheduler.core.elastic import largest, sizes
from scheduler.core.herd import Herd
from scheduler.core.layout import Layout
from scheduler.core.leaving import Leaving
from scheduler.core.lineage import Lineage
from scheduler.core.maystop import Rules
from scheduler.core.model import Claim, Job, Moment, Node, Promise, Request, Running, Seat, Snapshot, Team
from scheduler.core.pledges import Pledges
from scheduler.core.promise import Lending
from scheduler.core.quota import Books, Standing
from scheduler.core.timeline import Future, planned_end
from scheduler.core.verbs import Start, Stop, Swap
from scheduler.core.wishes import Wishes


class Desk:
    """What is worked out from nodes and teams alone, kept from one cycle to the next while they are the same."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] | None = None
        self._teams: tuple[Team, ...] | None = None
        self.layout = Layout(())
        self.lineage = Lineage(())
        self.capacity: dict[str, int] = {}

    def clear_for(self, snap: Snapshot) -> None:
        """Work out anew what the snapshot says differently."""
        if self._nodes is not snap.nodes and self._nodes != snap.nodes:
            self.layout = Layout(snap.nodes)
            self.capacity = usable(snap.nodes)
        if self._teams is not snap.teams and self._teams != snap.teams:
            self.lineage = Lineage(snap.teams)
        self._nodes, self._teams = snap.nodes, snap.teams


class Fit(NamedTuple):
    """A place for a job, and how many GPUs it takes there."""

    placement: Placement
    gpus: int

    @property
    def kind(self) -> str:
        """The GPU type."""
        return self.placement.kind


class Table:
    """Everything that changes while a plan is made. The plan's parts take turns at it."""

    def __init__(self, snap: Snapshot, desk: Desk) -> None:
        desk.clear_for(snap)
        self.snap, self.policy, self.now, self.layout = snap, snap.policy, snap.taken_at, desk.layout
        self.burden = Burden.of(desk.layout, snap.running)
        self.board = Board(desk.layout, snap.free, self.burden)  # free now, and kept for nobody
        self.boards = Boards(self.board, snap)
        self.lending = Lending(snap.policy)
        self.wishes = Wishes(desk.layout, snap.policy, snap.taken_at)
        # Without teams nobody lends: then it matters to nobody what would be back.
        back = (lambda run: self.lending.back(run, self.now)) if snap.teams else None
        away = outside(desk.layout, snap.running)
        self.books = Books(desk.lineage, desk.capacity, snap.running, away, returning=back)
        self.leaving = Leaving(self.books, snap.running)
        self.pledges = Pledges(self.books, snap.policy)
        self.allowed = Allowed(snap.policy, snap.taken_at, snap.running)
        self.waiting = {job.id: job for job in snap.waiting}
        self.running = {run.job: run for run in snap.running}
        self.starts: list[Start] = []
        self.stops: list[Stop] = []
        self.swaps: list[Swap] = []
        self.restarts: list[int] = []
        self.spares: list[Seat] = []  # free, and kept for gangs that lose a node
        self.claims: dict[int, Claim] = {}
        self.promises: dict[int, Promise] = {}
        self.certain: set[int] = set()  # promises that rest on limits alone
        self.settled: set[int] = set()  # jobs that start, or for which a place is being made
        self.exhausted: set[int] = set()  # jobs for which a search ran out of steps
        self._narrowed: dict[tuple[Request, tuple[str, ...]], Request] = {}

    @cached_property
    def future(self) -> Future:
        """When places come free, with the starts of this plan so far."""
        future = Future(self.snap, self.layout)
        for start in self.starts:
            future.occupy(start.seats, self.now + self.lasts_s(self.waiting[start.job]))
        for swap in self.swaps:
            run = self.running[swap.job]
            future.occupy((swap.into,), planned_end(run, self.now, self.policy))
        for claim in self.claims.values():
            future.book(claim.job, self.now, inf, claim.seats)
        return future

    @cached_property
    def rules(self) -> Rules:
        """Who may be stopped for whom, with the starts and stops of this plan so far."""
        rules = Rules(self.snap, self.books)
        for start in self.starts:
            job = self.waiting[start.job]
            rules.started(job, self.kind_of(start.seats), _count(start.seats))
        for claim in self.claims.values():
            holder = self.waiting.get(claim.job) or self.running[claim.job]  # who moves still runs
            rules.started(holder, self.kind_of(claim.seats), _count(claim.seats), coming=True)
        return rules

    @cached_property
    def herd(self) -> Herd:
        """What runs, as the rules of stopping sort it."""
        return Herd(self.snap, self.rules)

    @cached_property
    def herd_of_promises(self) -> Herd:
        """The same where a promise is at stake, whoever was stopped how often."""
        herd = Herd(self.snap, self.rules.for_promises())
        for stop in self.stops:
            herd.stopped(self.running[stop.job])
        return herd

    def clear_of(self, bound: frozenset[int], until: Moment) -> Board:
        """The board without the places of these promises, and without nodes whose maintenance begins before.

        They stay taken there, whoever leaves them.
        """
        return self.boards.beside(self.promises, bound, until)

    def has_room(self, job: Job) -> bool:
        """Whether the board has any place for it, quota aside."""
        return self.board.holds(job.request, tier=job.tier, policy=self.policy, gpus=sizes(job.request)[0])

    @property
    def steps(self) -> int:
        """What the searches have cost so far."""
        return self.board.steps

    @property
    def spent(self) -> bool:
        """Whether this round has looked at as much as it may: then nobody else is asked to go in it."""
        return self.steps >= self.policy.search_steps

    def kind_of(self, seats: Sequence[Seat]) -> str:
        """The GPU type of a gang's nodes."""
        return self.layout.nodes[self.layout.row[seats[0].node]].gpu_type

    def lasts_s(self, job: Job) -> float:
        """How long the job may hold its place: its limit, or for ever."""
        limit = effective_limit(job, self.policy)
        return inf if limit is None else limit

    def booked_s(self, job: Job) -> float:
        """For how long a promised place is booked: its limit, or what nine of ten such jobs need."""
        if job.limit_s is None and job.p90_s is not None:
            return min(job.p90_s, self.lasts_s(job))
        return self.lasts_s(job)

    def kinds(self, job: Job, gpus: int) -> tuple[str, ...]:
        """The GPU types that it accepts and quota allows now, in its order, beside what is pledged."""
        allowed = (kind for kind in self.accepted(job) if self.standing(job, kind, gpus).starts)
        return tuple(kind for kind in allowed if self.pledges.broken(job, kind, gpus) is None)

    def accepted(self, job: Job) -> tuple[str, ...]:
        """The GPU types that it accepts and that are here, in its order."""
        return self.layout.kinds(job.request)

    def standing_runs(self) -> Collection[Running]:
        """What runs and was not asked to go in this plan, the newest first; a view, for few who ask read it."""
        return self._standing.values()

    @cached_property
    def _standing(self) -> dict[int, Running]:
        asked = {stop.job for stop in self.stops}
        newest = sorted(self.snap.running, key=lambda run: (-run.started_at, run.job))
        return {run.job: run for run in newest if run.job not in asked}

    def standing(self, job: Job, kind: str, gpus: int) -> Standing:
        """What a start would be for its team."""
        firm = not job.preemptible
        return self.books.standing(job.team, kind, gpus, returns=self.lending.to(job), firm=firm)

    def fit(self, job: Job, board: Board) -> Fit | None:
        """A place for the job on this board, inside its quota; an elastic one takes what it can get."""
        if not job.request.min_gpus:
            return self._fit(job, job.request.gpus, board)
        most = self.allowed.size(job)
        gpus = largest(job.request, lambda size: size <= most and self._fit(job, size, board) is not None)
        return None if gpus is None else self._fit(job, gpus, board)

    def _fit(self, job: Job, gpus: int, board: Board) -> Fit | None:
        kinds = self.kinds(job, gpus)
        if not kinds:
            return None
        placement = board.place(
            self.narrow(job.request, kinds),
            tier=job.tier,
            policy=self.policy,
            gpus=gpus,
            relaxed=not self.wishes.binds(job),
            firm=not job.preemptible,
        )
        return None if placement is None else Fit(placement, gpus)

    def narrow(self, request: Request, kinds: tuple[str, ...]) -> Request:
        """The same request for these types only."""
        if kinds == self.layout.kinds(request):
            return request
        if (request, kinds) not in self._narrowed:
            self._narrowed[request, kinds] = replace(request, gpu_types=kinds)
        return self._narrowed[request, kinds]

    def start(self, job: Job, fit: Fit, *, on_recall: bool = False) -> None:
        """It starts now; whoever comes next finds its places taken."""
        seats = fit.placement.seats
        self.starts.append(Start(job.id, job.version, seats, on_recall))
        self.settled.add(job.id)
        self.release(job.id)
        self.take(job, fit)
        if "future" in self.__dict__:
            self.future.occupy(seats, self.now + self.lasts_s(job))

    def take(self, job: Job, fit: Fit, *, coming: bool = False) -> None:
        """Places and quota for a job that starts, or (coming) for which a place is being made."""
        seats, kind, gpus = fit.placement.seats, fit.kind, fit.gpus
        self.boards.expect(seats, job.request, firm=not job.preemptible)
        self.books.take(job.team, kind, gpus, returns=self.lending.to(job))
        self.allowed.started(job)
        if "rules" in self.__dict__:
            self.rules.started(job, kind, gpus, coming=coming)

    def promise(self, job: Job, at: Moment, seats: Sequence[Seat], *, protected: bool, certain: bool) -> None:
        """Plan this start; who comes behind does not delay it."""
        self.promises[job.id] = Promise(job.id, at, tuple(seats), protected)
        if certain:
            self.certain.add(job.id)
        self.future.book(job.id, at, at + self.booked_s(job), seats)

    def move_promise(self, number: int, seats: Sequence[Seat]) -> None:
        """The same start at the same time in another place."""
        job, promise = self.waiting[number], self.promises[number]
        certain = number in self.certain
        self.release(number)
        self.promise(job, promise.at, seats, protected=promise.protected, certain=certain)

    def release(self, job: int) -> None:
        """Nothing is planned for it any more."""
        if self.promises.pop(job, None) is not None:
            self.boards.forget()
            self.certain.discard(job)
            self.future.bookings.pop(job, None)

    def stop(self, run: Running, stop: Stop) -> None:
        """Ask this run to go; its places and its quota come free when it has gone."""
        self.stops.append(stop)
        self.leaving.add(run)
        self._standing.pop(run.job, None)
        self.herd.stopped(run)
        if "herd_of_promises" in self.__dict__:
            self.herd_of_promises.stopped(run)
        self.rules.stopped(run)

    def claim(self, job: Job, fit: Fit, victims: Iterable[int], since: Moment) -> None:
        """A place is being made for this job: what of it is free is kept, the rest comes."""
        claim = Claim(job.id, fit.placement.seats, tuple(victims), since)
        self.claims[job.id] = claim
        self.settled.add(job.id)
        self.release(job.id)
        self.take(job, fit, coming=True)
        leaving = (self.running[victim] for victim in claim.victims if victim in self.running)
        self.pledges.add(job, fit.kind, fit.gpus, leaving)
        if "future" in self.__dict__:
            self.future.book(job.id, self.now, inf, claim.seats)

    def keep(self, claim: Claim) -> None:
        """A place is kept for a run that moves; its quota it still holds. It goes on there once it has stopped."""
        run = self.running[claim.job]
        self.claims[run.job] = claim
        self.boards.expect(claim.seats, run.request, firm=not run.preemptible)
        if "future" in self.__dict__:
            self.future.book(run.job, self.now, inf, claim.seats)


def _count(seats: Iterable[Seat]) -> int:
    return sum(len(seat.slots) for seat in seats)
