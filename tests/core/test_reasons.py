"""The reason a job is given is the first of the list that holds: found again slowly, from the plan alone."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from hypothesis import given

from scheduler.core.model import Job, Node, Running, Seat, Snapshot
from scheduler.core.planner import plan
from scheduler.core.promise import back_within, may_lend
from scheduler.core.quota import Books, Standing
from scheduler.core.reasons import Reason
from scheduler.core.verbs import Plan, Verdict
from tests.core.brute import Ask, allowed, fewest
from tests.core.worlds import build, emptied, healthy, quick, worlds

Kinds = frozenset[str]


def taken(snap: Snapshot, seats: Iterable[Seat]) -> Snapshot:
    """The same world with these places gone."""
    rows = {node.id: row for row, node in enumerate(snap.nodes)}
    free = snap.free.copy()
    for seat in seats:
        free[rows[seat.node], list(seat.slots)] = False
    return replace(snap, free=free)


def shut(snap: Snapshot, nodes: Iterable[int]) -> Snapshot:
    """The same world without these nodes."""
    every = tuple(range(snap.free.shape[1]))
    return taken(snap, (Seat(node, every) for node in nodes))


@dataclass(frozen=True)
class Round:
    """A plan and all that can be asked about it."""

    snap: Snapshot
    made: Plan

    @cached_property
    def jobs(self) -> dict[int, Job]:
        return {job.id: job for job in self.snap.waiting}

    @cached_property
    def kind(self) -> dict[int, str]:
        return {node.id: node.gpu_type for node in self.snap.nodes}

    @cached_property
    def beside(self) -> Snapshot:
        """What is free once the starts are there."""
        running = list(self.snap.running)
        for start in self.made.starts:
            job = self.jobs[start.job]
            kind = self.kind[start.seats[0].node]
            running.append(Running(job.id, job.team, job.tier, kind, start.seats, job.request, 0.0))
        later = taken(self.snap, (seat for start in self.made.starts for seat in start.seats))
        return replace(later, running=tuple(running))

    @cached_property
    def books(self) -> Books:
        """Quota as it stands when the round is over; who was asked to go holds its part until it has gone."""
        snap, there = self.snap, capacity(self.snap.nodes) + held_on(self.snap)
        books = Books(snap.teams, there, snap.running, returning=self._returns)
        waiting = [
            claim for claim in self.made.claims if claim.job in self.jobs
        ]  # who moves holds it already
        for one in (*self.made.starts, *waiting):
            gpus = sum(len(seat.slots) for seat in one.seats)
            job = self.jobs[one.job]
            returns = may_lend(job, snap.policy)
            books.take(job.team, self.kind[one.seats[0].node], gpus, returns=returns)
        return books

    def _returns(self, run: Running) -> bool:
        policy = self.snap.policy
        return back_within(run, policy, self.snap.taken_at) <= policy.return_promise_s

    def standing(self, job: Job, kind: str) -> Standing:
        returns, firm = may_lend(job, self.snap.policy), not job.preemptible
        return self.books.standing(job.team, kind, job.request.gpus, returns=returns, firm=firm)


def capacity(nodes: Iterable[Node]) -> Counter[str]:
    return sum((Counter({node.gpu_type: node.gpus}) for node in nodes if node.usable), Counter())


def held_on(snap: Snapshot) -> Counter[str]:
    """What runs hold on nodes that take nothing new: there as long as they are."""
    links = {node.id: node.nvlink if node.usable else () for node in snap.nodes}
    return Counter(
        run.gpu_type
        for run in snap.running
        for seat in run.seats
        for slot in seat.slots
        if slot >= len(links[seat.node]) or links[seat.node][slot] < 0
    )


def fits(snap: Snapshot, job: Job, kinds: Iterable[str]) -> bool:
    ask = Ask(job.request, job.tier)
    return any(fewest(snap, ask, kind, ask.level) is not None for kind in kinds)


def able(snap: Snapshot, job: Job) -> Kinds:
    """The types of which the empty and healthy cluster holds it, and nobody's quota forbids it for ever."""
    empty = emptied(snap)
    here = [node for node in empty.nodes if node.why_not != "pending"]
    books = Books(snap.teams, capacity(here))
    returns = may_lend(job, snap.policy)
    return frozenset(
        kind
        for kind in {node.gpu_type for node in here}
        if fits(empty, job, [kind])
        and books.standing(job.team, kind, job.request.gpus, returns=returns).starts
    )


def unheard(snap: Snapshot, job: Job, kinds: Kinds) -> bool:
    """Whether every cluster that has such nodes is silent."""
    ask, back = Ask(job.request, job.tier), healthy(snap)
    there = [n for n in back.nodes if n.gpu_type in kinds and n.usable and (not n.spot or spots(job))]
    able = {n.cluster for n in there if allowed(back, ask, n)}
    states = {
        cluster: {n.why_not for n in snap.nodes if n.cluster == cluster and n.why_not != "pending"}
        for cluster in able
    }
    return all("silent" in found and found <= {"silent", "lost"} for found in states.values())


def enough(snap: Snapshot, job: Job, kinds: Kinds) -> bool:
    """Whether one cluster has so many free GPUs of one type on nodes where it may go."""
    ask, free = Ask(job.request, job.tier), Counter[tuple[str, str]]()
    for node, slots in zip(snap.nodes, snap.free, strict=True):
        if node.gpu_type in kinds and allowed(snap, ask, node) and (not node.spot or spots(job)):
            free[node.cluster, node.gpu_type] += int(slots.sum())
    return max(free.values(), default=0) >= job.request.gpus


def spots(job: Job) -> bool:
    return int(job.request.spot_share * job.request.gpus + 1e-9) > 0


def expected(seen: Round, job: Job) -> set[Reason]:
    """What it may be told: one reason, or those between which only the rest of the plan decides."""
    if job.id in {claim.job for claim in seen.made.claims}:
        return {Reason.STOPPING_OTHERS}
    kinds = able(seen.snap, job)
    if not kinds:
        return {Reason.IMPOSSIBLE}
    inside = frozenset(kind for kind in kinds if seen.standing(job, kind).starts)
    if not inside:
        lent = any(seen.standing(job, kind) is Standing.NOTHING for kind in kinds)
        return {Reason.NOTHING_TO_BORROW if lent else Reason.TEAM_LIMIT}
    if unheard(seen.snap, job, inside):
        return {Reason.UNREACHABLE}
    if fits(seen.beside, job, inside):
        return {Reason.MAINTENANCE, Reason.RESERVED, Reason.CAPACITY_DOWN}
    down = {Reason.CAPACITY_DOWN} if fits(mended(seen), job, inside) else set[Reason]()
    if fits(seen.snap, job, inside):
        return {Reason.ORDER} | down
    return {Reason.SCATTERED if enough(seen.snap, job, inside) else Reason.FULL} | down


def mended(seen: Round) -> Snapshot:
    """The world after the starts, with all nodes back."""
    return healthy(seen.beside)


@quick
@given(worlds())
def test_the_reason_is_the_first_of_the_list_that_holds(snap: Snapshot) -> None:
    seen = Round(snap, plan(snap))
    for verdict in seen.made.verdicts:
        assert verdict.reason in expected(seen, seen.jobs[verdict.job])


def of(made: Plan, *reasons: Reason) -> Iterator[Verdict]:
    return (verdict for verdict in made.verdicts if verdict.reason in reasons)


@quick
@given(worlds())
def test_a_reserved_place_is_there_until_the_one_it_is_kept_for(snap: Snapshot) -> None:
    seen = Round(snap, plan(snap))
    kept = {one.job: one.seats for one in (*seen.made.claims, *seen.made.promises)}
    for verdict in of(seen.made, Reason.RESERVED):
        job = seen.jobs[verdict.job]
        inside = frozenset(kind for kind in able(snap, job) if seen.standing(job, kind).starts)
        assert fits(seen.beside, job, inside)
        all_kept = [seat for number, seats in kept.items() if number != job.id for seat in seats]
        windows = [node for window in snap.windows for node in window.nodes]
        assert verdict.numbers["for_job"] in kept
        assert not fits(shut(taken(seen.beside, all_kept), windows), job, inside)


@quick
@given(worlds())
def test_a_window_is_blamed_only_where_there_is_a_place_without_it(snap: Snapshot) -> None:
    seen = Round(snap, plan(snap))
    for verdict in of(seen.made, Reason.MAINTENANCE):
        job = seen.jobs[verdict.job]
        inside = frozenset(kind for kind in able(snap, job) if seen.standing(job, kind).starts)
        closed = [node for window in snap.windows for node in window.nodes]
        assert fits(seen.beside, job, inside)
        every = [seat for one in (*seen.made.claims, *seen.made.promises) for seat in one.seats]
        assert not fits(shut(taken(seen.beside, every), closed), job, inside)


@quick
@given(worlds())
def test_no_more_jobs_blame_the_nodes_that_are_out_than_those_would_hold(snap: Snapshot) -> None:
    made = plan(snap)
    blaming = list(of(made, Reason.CAPACITY_DOWN))
    out = sum(
        int(slots.sum())
        for node, slots in zip(snap.nodes, snap.free, strict=True)
        if not node.usable and node.why_not != "pending"
    )
    assert len(blaming) <= out


def test_the_worlds_meet_every_reason_of_the_planner_often() -> None:
    """A property that never meets its case proves nothing."""
    met = Counter(verdict.reason for seed in range(600) for verdict in plan(build(7, 9, seed)).verdicts)
    rare = {reason: times for reason, times in met.items() if times < 15}
    told_elsewhere = {
        Reason.HELD,
        Reason.NOT_BEFORE,
        Reason.DEPENDS,
        Reason.RETRYING,
        Reason.NOT_ALLOWED,
        Reason.NOT_REACHED,
    }
    assert (set(Reason) - set(met), rare) == (told_elsewhere, {})
