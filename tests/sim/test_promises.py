"""Promises that rest on limits are kept: who stands behind in line never delays a planned start."""

import json
from functools import partial
from itertools import pairwise

from hypothesis import HealthCheck, given, settings

from scheduler.core import planner
from scheduler.core.model import Seat, Snapshot
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.files import read_cluster, read_jobs, read_policy
from scheduler.sim.thinkers.berth import Berth
from tests.sim.worlds import World, build, worlds

SLACK_S = 1e-6
NOTHING = (
    *(
        "team",
        "user",
        "after",
        "not_before_s",
        "deadline_s",
        "min_gpus",
        "cpus_per_gpu",
        "memory_gib_per_gpu",
    ),
)
ALIKE = dict.fromkeys(NOTHING, "") | {"restart_s": "0"}
Outcome = tuple[float, frozenset[Seat]]


def by_limits_alone(world: World, *, tiers: bool = False) -> World:
    """The same for one person who always gives a limit that is long enough; nothing breaks."""
    alike = ALIKE if tiers else ALIKE | {"tier": "standard"}
    jobs = list[dict[str, str]]()
    for row in world.jobs:
        lasts = max(1.0, float(row["duration_s"]))
        limit = max(lasts, float(row.get("limit_s", 0)))
        jobs.append(row | alike | {"duration_s": f"{lasts:.10g}", "limit_s": f"{limit:.10g}"})
    figures = {name: world.policy[name] for name in ("cycle_s", "grace_s")}
    return World({"nodes": world.cluster["nodes"]}, jobs, [], figures)


def planned(world: World) -> list[tuple[float, Plan]]:
    """Every plan with its moment."""
    texts = world.texts()
    cluster = read_cluster(texts["CLUSTER.json"], "CLUSTER.json")
    asks, plans = read_jobs(texts["JOBS.csv"], "JOBS.csv"), list[tuple[float, Plan]]()

    def watched(snap: Snapshot, desk: Desk) -> Plan:
        plans.append((snap.taken_at, planner.plan(snap, desk, evidence=False)))
        return plans[-1][1]

    case = Case(cluster, asks, (), read_policy(json.dumps(world.policy), "POLICY.json"))
    replay(case, Berth(watched), Watch(lambda event: None))
    return plans


def delayed_from_behind(before: Plan, after: Plan, now: float) -> list[int]:
    """The first job whose planned start became later though nothing has changed for anybody ahead of it.

    Who comes and stands ahead is another matter.
    """
    then = outcomes(after, now)
    promises = {one.job: one for one in before.promises}
    for job in (job for job in before.order if job in promises):
        at, seats = promises[job].at, frozenset(promises[job].seats)
        if newly_ahead(job, before, after):
            return []
        if job in then and then[job][0] > max(at, now) + SLACK_S:
            return [job]
        if then.get(job) != (at, seats):
            return []  # it has another place or time, or could start now: what comes behind is planned anew
    return []


def newly_ahead(job: int, before: Plan, after: Plan) -> bool:
    """Whether somebody stands ahead of it who was not in line before."""
    until = after.order.index(job) if job in after.order else 0
    return not set(after.order[:until]) <= set(before.order)


def outcomes(plan: Plan, now: float) -> dict[int, Outcome]:
    starts = {one.job: (now, frozenset(one.seats)) for one in plan.starts}
    return starts | {one.job: (one.at, frozenset(one.seats)) for one in plan.promises}


@given(world=worlds(6, 24, faults=False, teams=False).map(by_limits_alone))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_who_stands_behind_never_delays_a_planned_start(world: World) -> None:
    """Runs may end early; then those ahead in line may be planned anew, and only they make somebody later."""
    for (_, before), (now, after) in pairwise(planned(world)):
        assert delayed_from_behind(before, after, now) == []


@given(world=worlds(6, 24, faults=False, teams=False).map(partial(by_limits_alone, tiers=True)))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nor_where_tiers_differ(world: World) -> None:
    """Production too comes behind the production that is ahead of it."""
    for (_, before), (now, after) in pairwise(planned(world)):
        assert delayed_from_behind(before, after, now) == []


def test_nor_in_worlds_where_lower_tiers_once_did() -> None:
    for seed in (5, 10, 12, 15):
        world = by_limits_alone(
            build(2 + seed % 5, 5 + seed % 20, seed, faults=False, teams=False), tiers=True
        )
        for (_, before), (now, after) in pairwise(planned(world)):
            assert delayed_from_behind(before, after, now) == []
