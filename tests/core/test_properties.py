"""What every plan keeps, whatever the world looks like."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.model import Plan, Snapshot
from scheduler.core.order import first_come
from scheduler.core.planner import plan
from tests.core.worlds import ABOVE, World, only, quick, worlds


def usage(snap: Snapshot, made: Plan | None = None) -> Counter[tuple[str, str]]:
    """GPUs by team and type, counted at every level; with the starts of a plan on top."""
    kind_of = {node.id: node.gpu_type for node in snap.nodes}
    jobs = {job.id: job for job in snap.waiting}
    held = [(run.team, run.gpu_type, run.gpus) for run in snap.running]
    starts = made.starts if made else ()
    held += [(jobs[s.job].team, kind_of[s.seats[0].node], jobs[s.job].gpus) for s in starts]
    used: Counter[tuple[str, str]] = Counter()
    for name, kind, gpus in held:
        team: str | None = name
        while team is not None:
            used[team, kind] += gpus
            team = ABOVE[team]
    return used


@quick
@given(worlds())
def test_no_gpu_is_given_twice_and_only_free_ones_of_usable_nodes(world: World) -> None:
    snap = world.snap
    row = {node.id: number for number, node in enumerate(snap.nodes)}
    given_out = [
        (row[seat.node], slot) for start in plan(snap).starts for seat in start.seats for slot in seat.slots
    ]
    assert len(given_out) == len(set(given_out))
    assert all(snap.free[row, slot] and snap.nodes[row].usable for row, slot in given_out)


@quick
@given(worlds())
def test_a_gang_sits_whole_with_its_exact_shape_or_not_at_all(world: World) -> None:
    jobs = {job.id: job for job in world.snap.waiting}
    nodes = {node.id: node for node in world.snap.nodes}
    for start in plan(world.snap).starts:
        asked, seats = jobs[start.job], [nodes[seat.node] for seat in start.seats]
        assert [len(set(seat.slots)) for seat in start.seats] == [asked.gpus_per_node] * asked.nodes
        assert len({node.id for node in seats}) == asked.nodes
        assert len({node.cluster for node in seats}) == 1
        assert {node.gpu_type for node in seats} == {asked.gpu_type or seats[0].gpu_type}
        assert start.job_version == asked.version


@quick
@given(worlds())
def test_every_waiting_job_starts_or_is_told_why_exactly_once(world: World) -> None:
    made = plan(world.snap)
    answered = [start.job for start in made.starts] + [verdict.job for verdict in made.verdicts]
    assert sorted(answered) == sorted(job.id for job in world.snap.waiting)


@quick
@given(worlds())
def test_the_same_snapshot_gives_the_same_plan_and_stays_as_it_was(world: World) -> None:
    before = world.snap.free.copy()
    assert plan(world.snap) == plan(world.snap)
    assert (world.snap.free == before).all()


@quick
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(world: World, dice: st.DataObject) -> None:
    snap = world.snap
    rows = list(range(len(snap.nodes)))
    jobs, running, teams = list(snap.waiting), list(snap.running), list(snap.teams)
    for pile in (rows, jobs, running, teams):
        dice.shuffle(pile)  # type: ignore[attr-defined]
    nodes, free = tuple(snap.nodes[row] for row in rows), snap.free[rows]
    shuffled = Snapshot(snap.taken_at, nodes, free, tuple(jobs), tuple(running), tuple(teams))
    assert plan(shuffled) == plan(snap)


@quick
@given(worlds())
def test_renaming_nodes_in_the_same_order_changes_no_who_and_no_where(world: World) -> None:
    snap = world.snap
    renamed = tuple(replace(node, name=f"host-{node.name}", id=node.id + 1000) for node in snap.nodes)
    running = tuple(replace(run, nodes=tuple(node + 1000 for node in run.nodes)) for run in snap.running)
    ours, theirs = plan(snap), plan(replace(snap, nodes=renamed, running=running))
    assert theirs.verdicts == ours.verdicts
    back = [[(seat.node - 1000, seat.slots) for seat in start.seats] for start in theirs.starts]
    assert back == [[(seat.node, seat.slots) for seat in start.seats] for start in ours.starts]
    assert [start.job for start in theirs.starts] == [start.job for start in ours.starts]


@quick
@given(worlds())
def test_no_level_of_the_team_tree_ever_exceeds_its_quota_by_a_start(world: World) -> None:
    snap = world.snap
    before, after = usage(snap), usage(snap, plan(snap))
    for team in snap.teams:
        for kind, nominal in team.nominal.items():
            # Above its quota already, because somebody lowered it: then nothing is added.
            assert after[team.name, kind] <= max(nominal, before[team.name, kind])


@quick
@given(worlds())
def test_who_comes_later_never_changes_what_those_ahead_get(world: World) -> None:
    queue = first_come(world.snap.waiting)
    whole = plan(world.snap)
    for many in range(len(queue)):
        part = plan(only(world.snap, *queue[:many]))
        assert part.starts == whole.starts[: len(part.starts)]
        assert {s.job for s in part.starts} == {s.job for s in whole.starts} & {j.id for j in queue[:many]}


@quick
@given(worlds())
def test_a_lower_tier_never_starts_in_place_of_a_higher_one_that_would_have_fitted(world: World) -> None:
    started = {start.job for start in plan(world.snap).starts}
    for job in world.snap.waiting:
        if job.id not in started:
            above = [other for other in world.snap.waiting if other.tier > job.tier and other.id in started]
            peers = [other for other in world.snap.waiting if other.tier == job.tier and other.id in started]
            before = [other for other in peers if (other.submitted_at, other.id) < (job.submitted_at, job.id)]
            alone = plan(only(world.snap, *above, *before, job))
            assert job.id not in {start.job for start in alone.starts}


@quick
@given(worlds())
def test_ahead_counts_the_waiting_jobs_before_it_that_want_the_same_gpus(world: World) -> None:
    queue = first_come(world.snap.waiting)
    verdicts = {verdict.job: verdict for verdict in plan(world.snap).verdicts}
    for place, job in enumerate(queue):
        if job.id in verdicts:
            ahead = [
                other
                for other in queue[:place]
                if other.id in verdicts
                and verdicts[other.id].reason != "impossible"
                and (other.gpu_type == job.gpu_type or not other.gpu_type or not job.gpu_type)
            ]
            assert verdicts[job.id].ahead_jobs == len(ahead)
            assert verdicts[job.id].ahead_gpus == sum(other.gpus for other in ahead)
