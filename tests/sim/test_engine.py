"""Whole replays of random worlds, by the reference policies and by a thinker that does mischief, before the checker."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.sim import events
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.files import read_cluster, read_faults, read_jobs, read_policy
from scheduler.sim.report import report
from scheduler.sim.score import Score
from scheduler.sim.thinker import Thinker
from scheduler.sim.thinkers import THINKERS
from tests.sim.checker import check
from tests.sim.rascal import Rascal
from tests.sim.worlds import World, worlds

# Mischief is unjust, but time, work, places and gangs are right whoever decides.
ENGINE = ("order", "life", "health", "seats", "gang", "hosts", "work", "asks", "report")
UNMEASURED = {"wall_s": 0.0, "peak_rss_mib": 0.0}


def wrong(world: World, thinker: Thinker, *, name: str, rules: tuple[str, ...] | None) -> list[str]:
    """Replay the world from its files, and what the checker has to say about it."""
    texts = world.texts()
    policy = {"name": name} if name != "default" else world.policy
    cluster = read_cluster(texts["CLUSTER.json"], "CLUSTER.json")
    asks = read_jobs(texts["JOBS.csv"], "JOBS.csv")
    faults = read_faults(texts["FAULTS.csv"], "FAULTS.csv", cluster)
    told: list[dict[str, Any]] = []
    score = Score.of(asks)

    def tell(event: events.Event) -> None:
        told.append(json.loads(events.line(event)))
        score.note(event)

    case = Case(cluster, asks, faults, read_policy(json.dumps(policy), "POLICY.json"))
    found = report(score, replay(case, thinker, Watch(tell))) | UNMEASURED
    return check(
        world.cluster, world.jobs, told, faults_rows=world.faults, policy=policy, report=found, only=rules
    )


@pytest.mark.parametrize("name", ["fifo", "easy"])
@given(world=worlds(teams=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_reference_policies_break_no_rule(name: str, world: World) -> None:
    assert wrong(world, THINKERS[name](), name=name, rules=None) == []


@pytest.mark.limit(150)
@given(world=worlds())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_real_planner_breaks_no_rule(world: World) -> None:
    assert wrong(world, THINKERS["default"](), name="default", rules=None) == []


@given(world=worlds(), seed=st.integers(0, 999))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_thinker_does_time_work_and_places_come_out_right(world: World, seed: int) -> None:
    assert wrong(world, Rascal(seed), name="default", rules=ENGINE) == []
