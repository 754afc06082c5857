"""Nobody starves: whose age is due starts soon, also where nobody knows how long anything runs."""

from dataclasses import replace

import pytest

from scheduler.core import planner
from scheduler.core.model import Snapshot, Tier
from scheduler.core.policy import HOUR, Policy
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.workload import Ask
from tests.sim.stage import ask, nodes, play

DUE_S = HOUR
POLICY = Policy(protect_after_s=DUE_S, protect_again_s=2 * DUE_S, recall_worth=1e9)


def blind(snap: Snapshot, desk: Desk) -> Plan:
    """The plan of a portal without any history."""
    waiting = tuple(replace(job, forecast_s=None, p90_s=None) for job in snap.waiting)
    running = tuple(replace(run, expected_end=None) for run in snap.running)
    return planner.plan(replace(snap, waiting=waiting, running=running), desk, evidence=False)


def stream(tier: Tier, lasts_s: float) -> list[Ask]:
    """Jobs of one node each, for three hours; the first ends half way, so that never both nodes are free."""
    count = int(3 * HOUR / (lasts_s / 2))
    return [
        ask(
            f"s{number}",
            submit=0 if number < 2 else 11,
            duration=lasts_s if number else lasts_s / 2,
            tier=tier,
            user="stream",
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("tier", [Tier.STANDARD, Tier.OPPORTUNISTIC])
@pytest.mark.parametrize("lasts_s", [290.0, 700.0, 1100.0])
def test_an_aged_gang_starts_soon_after_it_is_due_though_no_end_is_known(tier: Tier, lasts_s: float) -> None:
    jobs = [*stream(tier, lasts_s), ask("gang", 8, submit=10, user="gang")]
    jobs.sort(key=lambda one: one.submit_s)
    played = play(jobs, nodes(2), thinker=Berth(blind), policy=POLICY)
    soon_s = POLICY.min_runtime_s[tier.word] + POLICY.grace_s + 4 * POLICY.cycle_s
    assert played.starts()["gang"] <= 10 + DUE_S + soon_s
