"""What every plan keeps, whatever the world looks like."""

from collections import Counter
from dataclasses import replace
from math import inf
from random import Random
from typing import TypeVar

from hypothesis import given

from scheduler.core.model import Claim, Job, Promise, Running, Seat, Snapshot, Team
from scheduler.core.planner import plan
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan, Start, Stop
from tests.core.brute import Ask, faults
from tests.core.worlds import ABOVE, quick, seeds, worlds

Kept = TypeVar("Kept", Promise, Claim)


def with_start(snap: Snapshot, start: Start) -> Snapshot:
    """The world a moment later: this job runs."""
    rows = {node.id: row for row, node in enumerate(snap.nodes)}
    free = snap.free.copy()
    for seat in start.seats:
        free[rows[seat.node], list(seat.slots)] = False
    job = next(job for job in snap.waiting if job.id == start.job)
    kind = snap.nodes[rows[start.seats[0].node]].gpu_type
    run = Running(job.id, job.team, job.tier, kind, start.seats, job.request, started_at=snap.taken_at)
    return replace(snap, free=free, running=(*snap.running, run))


def usage(snap: Snapshot) -> Counter[tuple[str, str]]:
    """GPUs by team and type, counted at every level."""
    used: Counter[tuple[str, str]] = Counter()
    for run in snap.running:
        team: str | None = run.team
        while team is not None:
            used[team, run.gpu_type] += run.gpus
            team = ABOVE[team]
    return used


def limit_s(job: Job) -> float:
    """How long it may hold its place."""
    return inf if job.limit_s is None else job.limit_s


@quick
@given(worlds())
def test_every_start_keeps_every_rule_of_placement_and_no_gpu_is_given_twice(snap: Snapshot) -> None:
    jobs = {job.id: job for job in snap.waiting}
    for start in plan(snap).starts:
        job, gpus = jobs[start.job], sum(len(seat.slots) for seat in start.seats)
        kind = next(node.gpu_type for node in snap.nodes if node.id == start.seats[0].node)
        ask = Ask(job.request, job.tier, gpus, until=snap.taken_at + limit_s(job))
        assert faults(snap, ask, kind, start.seats) == []
        assert job.request.least <= gpus <= job.request.gpus
        assert start.job_version == job.version
        snap = with_start(snap, start)


@quick
@given(worlds())
def test_every_waiting_job_starts_or_is_told_why_exactly_once(snap: Snapshot) -> None:
    made = plan(snap)
    answered = [start.job for start in made.starts] + [verdict.job for verdict in made.verdicts]
    assert sorted(answered) == sorted(job.id for job in snap.waiting)


@quick
@given(worlds())
def test_the_same_snapshot_gives_the_same_plan_and_stays_as_it_was(snap: Snapshot) -> None:
    before = snap.free.copy()
    assert plan(snap) == plan(snap)
    assert (snap.free == before).all()


@quick
@given(worlds(), worlds())
def test_a_desk_kept_from_the_cycle_before_changes_nothing(before: Snapshot, snap: Snapshot) -> None:
    desk = Desk()
    plan(before, desk)
    again = replace(before, waiting=before.waiting[1:])
    assert decided(plan(again, desk)) == decided(plan(again))
    assert decided(plan(snap, desk)) == decided(plan(snap))


def decided(made: Plan) -> Plan:
    """A plan without what it cost; verdicts by job, since nothing hangs on their order."""
    return replace(made, steps=0, verdicts=tuple(sorted(made.verdicts, key=lambda verdict: verdict.job)))


@quick
@given(worlds(), seeds)
def test_the_order_of_rows_changes_nothing(snap: Snapshot, seed: int) -> None:
    dice = Random(seed)
    rows = list(range(len(snap.nodes)))
    jobs, running, teams = list(snap.waiting), list(snap.running), list(snap.teams)
    for pile in (rows, jobs, running, teams):
        dice.shuffle(pile)
    shuffled = replace(
        snap,
        nodes=tuple(snap.nodes[row] for row in rows),
        free=snap.free[rows],
        waiting=tuple(jobs),
        running=tuple(running),
        teams=tuple(teams),
    )
    assert decided(plan(shuffled)) == decided(plan(snap))


@quick
@given(worlds())
def test_renaming_nodes_in_the_same_order_changes_no_who_and_no_where(snap: Snapshot) -> None:
    def there(seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        return tuple(Seat(seat.node + 1000, seat.slots) for seat in seats)

    nodes = tuple(replace(node, name=f"host-{node.name}", id=node.id + 1000) for node in snap.nodes)
    running = tuple(replace(run, seats=there(run.seats)) for run in snap.running)
    claims = tuple(moved(claim, there(claim.seats)) for claim in snap.claims)
    windows = tuple(
        replace(window, nodes=frozenset(node + 1000 for node in window.nodes)) for window in snap.windows
    )
    renamed = replace(snap, nodes=nodes, running=running, claims=claims, windows=windows)
    ours, theirs = plan(snap), plan(renamed)
    assert [(s.job, s.seats) for s in theirs.starts] == [(s.job, there(s.seats)) for s in ours.starts]
    assert [(v.job, v.reason) for v in theirs.verdicts] == [(v.job, v.reason) for v in ours.verdicts]
    assert theirs.stops == tuple(there_too(stop) for stop in ours.stops)
    assert theirs.promises == tuple(moved(promise, there(promise.seats)) for promise in ours.promises)
    assert theirs.claims == tuple(moved(claim, there(claim.seats)) for claim in ours.claims)


def there_too(stop: Stop) -> Stop:
    """The receipt of a move says on which nodes the run goes on."""
    rule = dict(stop.receipt.rule)
    if isinstance(nodes := rule.get("nodes"), list):
        rule["nodes"] = [int(node) + 1000 for node in nodes]
    return replace(stop, receipt=replace(stop.receipt, rule=rule))


def moved(one: Kept, seats: tuple[Seat, ...]) -> Kept:
    return replace(one, seats=seats)


@quick
@given(worlds())
def test_renaming_teams_in_the_same_order_changes_nothing_but_names(snap: Snapshot) -> None:
    teams = tuple(
        Team(f"x-{t.name}", t.parent and f"x-{t.parent}", t.quota, t.weight, t.priority) for t in snap.teams
    )
    waiting = tuple(replace(job, team=f"x-{job.team}") for job in snap.waiting)
    running = tuple(replace(run, team=f"x-{run.team}") for run in snap.running)
    theirs = plan(replace(snap, teams=teams, waiting=waiting, running=running))
    ours = plan(snap)
    assert theirs.starts == ours.starts
    assert [(stop.job, stop.for_job) for stop in theirs.stops] == [(s.job, s.for_job) for s in ours.stops]
    assert [(v.job, v.reason) for v in theirs.verdicts] == [(v.job, v.reason) for v in ours.verdicts]


@quick
@given(worlds())
def test_no_start_lifts_a_level_of_the_team_tree_above_nominal_and_borrow(snap: Snapshot) -> None:
    later = snap
    for start in plan(snap).starts:
        later = with_start(later, start)
    before, after = usage(snap), usage(later)
    for team in snap.teams:
        for kind, share in team.quota.items():
            # Above its quota already, because somebody lowered it: then nothing is added.
            if share.borrow is not None:
                most = max(share.nominal + share.borrow, before[team.name, kind])
                assert after[team.name, kind] <= most


@quick
@given(worlds())
def test_a_stop_names_a_run_that_may_be_stopped_and_the_waiting_job_it_is_for(snap: Snapshot) -> None:
    made = plan(snap)
    running, waiting = {run.job: run for run in snap.running}, {job.id for job in snap.waiting}
    asked = [stop.job for stop in made.stops]
    assert len(asked) == len(set(asked))
    for stop in made.stops:
        assert running[stop.job].preemptible
        assert stop.for_job in waiting - {start.job for start in made.starts}
