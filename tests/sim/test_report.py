"""The figures of the report, on replays small enough to count by hand."""

from typing import Any

import pytest

from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.sim.decisions import AskStop, Swap
from scheduler.sim.eta import Told
from scheduler.sim.eta import score as eta_score
from scheduler.sim.figures import spread
from scheduler.sim.fragments import unusable
from scheduler.sim.report import report
from scheduler.sim.score import Score
from scheduler.sim.workload import Ask, Cluster, Fault
from scheduler.sim.world import World
from tests.sim.stage import Script, ask, nodes, play, seat


def reported(asks: list[Ask], *rest: Any, **more: Any) -> dict[str, Any]:
    played = play(asks, *rest, **more)
    score = Score.of(asks)
    for event in played.told:
        score.note(event)
    return report(score, played.record)


def test_how_jobs_ended_adds_up() -> None:
    asks = [ask("a", 4), ask("b", 4, limit_s=10.0), ask("c", 99), ask("d", 8, submit=1)]
    found = reported(asks, None, [Fault(50, "n1", "down")])
    ends = {key: found[key] for key in ("jobs", "finished", "impossible", "limit_stops", "unfinished")}
    assert ends == {"jobs": 4, "finished": 1, "impossible": 1, "limit_stops": 1, "unfinished": 1}


def test_waits_run_from_submission_to_first_start_and_jct_to_the_finish() -> None:
    asks = [
        ask("a", 8, submit=10, team="vision", tier=Tier.PRODUCTION),
        ask("b", 8, submit=20, duration=50, team="speech"),
        ask("c", 8, submit=30, duration=10, team="speech"),
    ]
    found = reported(asks)
    assert found["wait_s"]["mean"] == pytest.approx((0 + 90 + 130) / 3)
    assert (found["wait_s"]["p50"], found["wait_s"]["max"]) == (90.0, 130.0)
    assert {tier: waits["max"] for tier, waits in found["wait_s"]["by_tier"].items()} == {
        "production": 0.0,
        "standard": 130.0,
    }
    assert {team: waits["mean"] for team, waits in found["wait_s"]["by_team"].items()} == {
        "speech": 110.0,
        "vision": 0.0,
    }
    assert found["jct_s"] == {"mean": pytest.approx((100 + 140 + 140) / 3), "p50": 140.0, "p99": 140.0}


def test_a_job_that_runs_again_waited_only_until_its_first_start() -> None:
    found = reported([ask("a", 8)], None, [Fault(50, "n1", "down"), Fault(90, "n1", "up")])
    assert found["wait_s"]["max"] == 0.0
    assert found["jct_s"]["mean"] == 90 + 60 + 100


def test_utilisation_is_what_was_held_between_the_first_submission_and_the_last_finish() -> None:
    asks = [
        ask("a", 4, submit=100),
        ask("b", 2, submit=150, duration=10),
        ask("c", 4, submit=190, limit_s=50.0),
    ]
    found = reported(asks)
    assert found["span_s"] == 100.0
    assert found["gpu_seconds_busy"] == 4 * 100 + 2 * 10 + 4 * 50
    assert found["utilisation"] == (4 * 100 + 2 * 10 + 4 * 10) / (
        8 * 100
    )  # c is stopped after the last finish
    assert found["useful_gpu_s"] == 4 * 100 + 2 * 10


def test_stops_and_losses_are_counted_by_their_cause() -> None:
    script = Script(
        moves={50: lambda world: [AskStop(0, "recalled", 1)]},
        mends=lambda world: [Swap(0, 0, seat(2, 0, 1, 2, 3))] if world.now == 80 else [],
    )
    faults = [Fault(80, "n1", "down"), Fault(90, "n2", "down"), Fault(95, "n2", "up"), Fault(95, "n1", "up")]
    asks = [ask("a", 8, restart_s=10.0), ask("b", 12, submit=50)]
    found = reported(asks, nodes(3), faults, thinker=script)
    counts = ("preemptions", "reclaims", "recalls", "moves", "swaps", "node_losses")
    assert {key: found[key] for key in counts} == {
        **dict.fromkeys(counts, 0),
        "recalls": 1,
        "swaps": 1,
        "node_losses": 1,
    }
    lost = {cause: seconds for cause, seconds in found["lost_gpu_s"].items() if seconds}
    assert lost == {
        "recalled": 8 * 50.0,
        "swap": 8 * 20.0,
    }  # 20 s after its restart at 50; the last run had not begun


def test_the_estimates_are_scored_over_jobs_that_waited_or_were_told_to() -> None:
    told = [
        Told(p50=0.0, p90=0.0, wait=0.0),  # neither waited nor was told to
        Told(p50=100.0, p90=200.0, wait=100.0),
        Told(p50=100.0, p90=200.0, wait=300.0),
        Told(p50=61.0, p90=61.0, wait=0.0),
        Told(p50=0.0, p90=0.0, wait=61.0),
    ]
    assert eta_score(told) == {
        "jobs": 4,
        "started_before_p50": 0.25,
        "by_p50": 0.5,
        "by_p90": 0.5,
        "pinball_s": pytest.approx(((0 + 10) + (100 + 90) + (30.5 + 6.1) + (30.5 + 54.9)) / 8),
        "median_abs_error_s": 61.0,
    }


def test_without_anything_to_count_there_is_no_figure() -> None:
    assert eta_score([])["pinball_s"] is None
    assert spread([], "mean", "p50", "max") == {"mean": None, "p50": None, "max": None}


def test_a_percentile_is_a_value_that_occurred() -> None:
    assert spread([4, 1, 3, 2], "p50", "p90", "p99", "max") == {"p50": 2, "p90": 4, "p99": 4, "max": 4}
    assert spread(range(1, 101), "p50", "p90", "p99") == {"p50": 50, "p90": 90, "p99": 99}


@pytest.mark.parametrize(
    ("wanted", "share"),
    [
        pytest.param(ask("x", 3), 1 / 5, id="a node with too few GPUs is of no use to a job of one node"),
        pytest.param(ask("x", 8), 0.0, id="a larger job could use any of them"),
        pytest.param(ask("x", 6, tp=2), 1 / 5, id="where a whole group fits"),
        pytest.param(ask("x", 4, nodes=2, gpus_per_node=2), 1 / 5, id="an exact shape in its own number"),
        pytest.param(ask("x", 2, gpu_types=("H100",)), 1.0, id="what it does not accept is of no use"),
    ],
)
def test_fragmentation_is_the_share_of_free_gpus_that_the_head_cannot_use(wanted: Ask, share: float) -> None:
    world = World(Cluster(nodes(2)), [wanted, ask("other", 3)], Policy())
    held = (seat(0, 0, 1, 2),)
    world.floor.take(held, world.site.cells(held), job=1, ask=world.asks[1])
    assert unusable(world, 0) == pytest.approx(share)


def test_fragmentation_is_a_mean_over_the_time_in_which_somebody_waits() -> None:
    asks = [ask("a", 1), ask("b", 4), ask("c", 4, submit=150)]
    found = reported(asks, nodes(1))
    # 0-100: b waits and can use none of 3; 150-200: c waits and nothing is free.
    assert found["fragmentation"] == pytest.approx((100 * 1.0 + 50 * 0.0) / 150)
