"""The dominant reason is the first of the closed list that holds, found again the slow way."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from hypothesis import given

from scheduler.core.model import Job, Node, Snapshot, Team
from scheduler.core.order import first_come
from scheduler.core.planner import plan
from scheduler.core.possible import impossible
from scheduler.core.reasons import Reason
from tests.core.test_properties import usage
from tests.core.worlds import World, build, emptied, healthy, only, quick, unlimited, worlds


def started(snap: Snapshot) -> set[int]:
    return {start.job for start in plan(snap).starts}


def line(job: Job, snap: Snapshot) -> Iterator[Team]:
    """The job's team and the teams above it."""
    teams = {team.name: team for team in snap.teams}
    name: str | None = job.team
    while name is not None:
        yield teams[name]
        name = teams[name].parent


def could_hold(nodes: tuple[Node, ...], job: Job) -> bool:
    """Whether these nodes, empty, are a place for the gang."""
    one_place = len({(node.cluster, node.gpu_type) for node in nodes}) == 1
    right_type = job.gpu_type in ("", nodes[0].gpu_type)
    return one_place and right_type and all(len(node.nvlink) >= job.gpus_per_node for node in nodes)


def able_types(job: Job, snap: Snapshot) -> set[str]:
    """Try every set of approved nodes, and every level of the team tree."""
    approved = [node for node in snap.nodes if node.why_not != "pending"]
    types = {nodes[0].gpu_type for nodes in combinations(approved, job.nodes) if could_hold(nodes, job)}
    teams = list(line(job, snap))
    return {kind for kind in types if all(team.nominal.get(kind, job.gpus) >= job.gpus for team in teams)}


@quick
@given(worlds())
def test_impossible_is_what_no_node_set_of_the_emptied_healthy_cluster_could_hold(world: World) -> None:
    reasons = {verdict.job: verdict.reason for verdict in plan(world.snap).verdicts}
    for job in world.snap.waiting:
        never = not able_types(job, world.snap)
        assert (reasons.get(job.id) == Reason.IMPOSSIBLE) is never
        assert (job.id not in started(only(emptied(world.snap), job))) is never


@quick
@given(worlds())
def test_the_door_refuses_with_the_same_numbers_as_the_plan(world: World) -> None:
    verdicts = {verdict.job: verdict for verdict in plan(world.snap).verdicts}
    for job in world.snap.waiting:
        refusal, verdict = impossible(job, world.snap), verdicts.get(job.id)
        if verdict is not None and verdict.reason == Reason.IMPOSSIBLE:
            assert refusal is not None
            assert refusal.numbers == verdict.numbers
        else:
            assert refusal is None


def expected(job: Job, snap: Snapshot) -> Reason:
    """The first reason that holds for a job that did not start."""
    able = able_types(job, snap)
    if not able:
        return Reason.IMPOSSIBLE
    inside = {kind for kind in able if is_inside(job, kind, snap)}
    if not inside:
        return Reason.TEAM_LIMIT
    if job.id in started(healthy(snap)):
        return Reason.CAPACITY_DOWN
    if any(started(only(unlimited(snap), replace(job, gpu_type=kind))) for kind in inside):
        return Reason.ORDER
    free = max(free_in_a_cluster(snap, kind) for kind in inside)
    return Reason.SCATTERED if free >= job.gpus else Reason.FULL


def is_inside(job: Job, kind: str, snap: Snapshot) -> bool:
    """Whether the quota has room at the job's turn, at every level."""
    queue = first_come(snap.waiting)
    held = usage(snap, plan(only(snap, *queue[: queue.index(job)])))
    return all(
        held[team.name, kind] + job.gpus <= team.nominal[kind]
        for team in line(job, snap)
        if kind in team.nominal
    )


def free_in_a_cluster(snap: Snapshot, kind: str) -> int:
    free: Counter[str] = Counter({"": 0})
    for node, slots in zip(snap.nodes, snap.free, strict=True):
        if node.gpu_type == kind and node.usable:
            free[node.cluster] += int(slots.sum())
    return max(free.values())


@quick
@given(worlds())
def test_the_reason_is_the_first_of_the_list_that_holds(world: World) -> None:
    jobs = {job.id: job for job in world.snap.waiting}
    for verdict in plan(world.snap).verdicts:
        assert verdict.reason == expected(jobs[verdict.job], world.snap)


def test_the_worlds_meet_every_reason_of_the_first_policy_often() -> None:
    """A property that never meets its case proves nothing."""
    met = Counter(verdict.reason for seed in range(200) for verdict in plan(build(7, 9, seed).snap).verdicts)
    rare = {reason for reason, times in met.items() if times < 20}
    assert (set(met), rare) == (
        {
            Reason.IMPOSSIBLE,
            Reason.TEAM_LIMIT,
            Reason.CAPACITY_DOWN,
            Reason.FULL,
            Reason.SCATTERED,
            Reason.ORDER,
        },
        set(),
    )
