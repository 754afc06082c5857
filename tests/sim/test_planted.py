"""Bugs planted in the planner and in the engine, in memory: the checker and the properties see them."""

from dataclasses import replace
from itertools import pairwise

import pytest

from scheduler.core import planner, risk
from scheduler.core.model import Job, Snapshot
from scheduler.core.table import Desk, Table
from scheduler.core.verbs import Plan
from scheduler.sim.thinkers.berth import Berth, Planner
from scheduler.sim.work import Progress
from tests.sim.test_engine import wrong
from tests.sim.test_promises import by_limits_alone, delayed_from_behind, planned
from tests.sim.worlds import World, build

NODES = [{"name": "n1", "gpu_type": "A100", "gpus": 4}]
FIGURES = {
    "min_runtime_s": {"production": 0, "standard": 0, "opportunistic": 0},
    "grace_s": 10,
    "cycle_s": 5,
    "max_preemptions_per_day": 9,
}


def job(name: str, submit: float, **more: object) -> dict[str, str]:
    row = {"job": name, "submit_s": f"{submit:g}", "duration_s": "500", "gpus": "4", "user": name}
    return row | {column: str(value) for column, value in more.items()}


# Whom production sends away starts again behind it; somebody else comes when it has begun to save.
FIGHT = World(
    {"nodes": NODES},
    [
        job("low", 0, tier="opportunistic", checkpoint_s=60),
        job("high", 100, tier="production"),
        job("thief", 101, gpus=2, preemptible=0),
    ],
    [],
    FIGURES,
)


def said(plan: Planner) -> str:
    return " ".join(wrong(FIGHT, Berth(plan), name="default", rules=None))


def honest(snap: Snapshot, desk: Desk) -> Plan:
    return planner.plan(snap, desk, evidence=False)


def forgets_claims(snap: Snapshot, desk: Desk) -> Plan:
    return replace(honest(snap, desk), claims=())


def stops_nobody(snap: Snapshot, desk: Desk) -> Plan:
    return replace(honest(snap, desk), stops=(), claims=())


def stops_without_starts(snap: Snapshot, desk: Desk) -> Plan:
    """Who sent somebody away is forgotten from then on."""
    plan = honest(snap, desk)
    return replace(plan, starts=tuple(start for start in plan.starts if start.job != 1), claims=())


def test_without_a_bug_nothing_is_said() -> None:
    assert said(honest) == ""


@pytest.mark.parametrize(
    ("bug", "sentence"),
    [
        (stops_nobody, "production inside its quota waits longer than the bound"),
        (stops_without_starts, "is stopped for high, which never starts afterwards"),
    ],
    ids=["stops nobody", "starts nobody it stopped for"],
)
def test_a_planner_that_drops_what_it_owes_is_caught(bug: Planner, sentence: str) -> None:
    assert sentence in said(bug)


def test_a_planner_that_forgets_for_whom_it_stops_others_is_caught() -> None:
    found = wrong(build(8, 36, 27638352), Berth(forgets_claims), name="default", rules=None)
    assert any("was stopped for j7 to have" in each for each in found)


def test_work_that_nobody_did_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that save what was not yet done: the job ends before its work is."""
    saved = Progress.saved
    monkeypatch.setattr(Progress, "saved", lambda self, now: saved(self, now) + 50.0)
    low = FIGHT.jobs[0] | {"checkpoint_s": ""}
    unsaved = replace(FIGHT, jobs=[low, *FIGHT.jobs[1:]])
    assert any("low" in each for each in wrong(unsaved, Berth(honest), name="default", rules=("work",)))


def test_promises_that_bind_nobody_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(table: Table, job: Job) -> frozenset[int]:
        return frozenset()

    monkeypatch.setattr(risk, "binding", nothing)
    plans = planned(by_limits_alone(build(5, 26, 3601026366, faults=False, teams=False)))
    assert any(delayed_from_behind(before, after, now) for (_, before), (now, after) in pairwise(plans))
