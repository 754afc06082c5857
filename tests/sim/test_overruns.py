"""What runs without limits that overrun cost those who were planned behind them; and how broken the free GPUs are."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from scheduler.core.model import Seat
from scheduler.core.policy import Policy
from scheduler.sim.decisions import Act, AskStop, Decisions, Planned
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.workload import Ask, Fault
from scheduler.sim.world import World
from tests.sim.stage import ask, nodes, play, seat

WHOLE = (seat(0, 0, 1, 2, 3), seat(1, 0, 1, 2, 3))
FIRST = (seat(0, 0, 1, 2, 3),)


@dataclass
class Planner(Fifo):
    """First come, first served, with a plan for the job that waits first: when, and where, as of which time."""

    plans: dict[float, float]  # by time: for when the first in line is planned from then on
    seats: tuple[Seat, ...] = WHOLE
    asks: dict[float, Act] = field(default_factory=dict)
    restless = True  # it looks every cycle, so plans change while nothing happens

    def __post_init__(self) -> None:
        Fifo.__init__(self)

    def think(self, world: World) -> Decisions:
        decided = super().think(world)
        if world.now in self.asks:
            decided = replace(decided, acts=(*decided.acts, self.asks.pop(world.now)))
        started = {act.job for act in decided.acts if not isinstance(act, AskStop)}
        first = next((job for job in world.line if job not in started), None)
        known = [at for since, at in self.plans.items() if since <= world.now]
        if first is None or not known:
            return decided
        return replace(decided, planned=(Planned(first, known[-1], self.seats),))


def told(asks: list[Ask], thinker: Fifo, **more: Any) -> tuple[float, ...]:
    """Runs that overran, jobs that this delayed, and by how much altogether."""
    played = play(asks, thinker=thinker, policy=Policy(cycle_s=10.0), **more)
    return tuple(played.record.overruns.plain().values())


def test_a_run_that_outlives_the_end_the_plan_assumed_delays_who_was_planned_behind_it() -> None:
    jobs = [ask("a", 8, duration=100), ask("b", 8, submit=5)]
    assert told(jobs, Planner({0: 60.0})) == (1, 1, 40.0)


def test_a_plan_that_comes_true_is_no_overrun() -> None:
    jobs = [ask("a", 8, duration=100), ask("b", 8, submit=5)]
    assert told(jobs, Planner({0: 100.0})) == (0, 0, 0)
    assert told(jobs, Planner({0: 140.0})) == (0, 0, 0), "earlier than planned is nobody's loss"


def test_the_delay_counts_from_the_first_time_that_came_to_nothing() -> None:
    jobs = [ask("a", 8, duration=100), ask("b", 8, submit=5)]
    assert told(jobs, Planner({0: 40.0, 35: 70.0, 65: 100.0})) == (0, 0, 0), (
        "changed before its time had come"
    )
    assert told(jobs, Planner({0: 40.0, 45: 70.0, 75: 100.0})) == (1, 1, 60.0)
    assert told(jobs, Planner({0: 40.0, 40: 70.0})) == (1, 1, 60.0), "made anew in the very moment"


def test_each_run_in_the_way_counts_once_and_each_job_that_waits() -> None:
    jobs = [ask("a", 4, duration=100), ask("b", 4, duration=90), ask("c", 8, submit=5), ask("d", 8, submit=6)]
    assert told(jobs, Planner({0: 50.0})) == (2, 1, 50.0)
    # c runs from 100 to 200; d is planned for 150 behind it.
    assert told(jobs, Planner({0: 50.0, 100: 150.0})) == (3, 2, 100.0)


def test_a_lost_node_and_a_run_on_other_seats_are_no_overrun() -> None:
    jobs = [ask("a", 4, duration=50), ask("b", 4, duration=100), ask("c", 8, submit=5)]
    assert told(jobs, Planner({0: 60.0}, FIRST)) == (0, 0, 0), "what it was planned on is free"
    faults = [Fault(45, "n1", "down"), Fault(80, "n1", "up")]
    alone = [ask("a", 8, duration=40), ask("c", 8, submit=5)]
    assert told(alone, Planner({0: 60.0, 45: 60.0}), faults=faults)[:2] == (0, 0)


def test_who_came_after_the_plan_was_made_has_not_overrun_it() -> None:
    # b's own queue is stuck; c comes by another one and takes a's place at 30, after b was planned.
    jobs = [ask("a", 4, duration=20), ask("d", 4, duration=100), ask("b", 8, submit=5, pool="default")]
    assert told([*jobs, ask("c", 4, submit=30, duration=100)], Planner({0: 60.0})) == (1, 1, 70.0), "only d"


def test_a_run_that_is_sent_away_for_its_lateness_has_overrun() -> None:
    # b stands before a in line, but must not start before a does.
    jobs = [ask("b", 8, not_before_s=5.0), ask("a", 8, duration=500, checkpoint_s=10.0)]
    late = Planner({0: 65.0}, asks={65.0: AskStop(1, "recalled", 0)})
    assert told(jobs, late) == (1, 1, 5.0), "until it has saved and gone"
    soon = Planner({0: 65.0, 56: 200.0}, asks={55.0: AskStop(1, "recalled", 0)})
    assert told(jobs, soon) == (0, 0, 0)


def test_with_limits_the_real_planner_is_delayed_by_no_overrun_and_without_them_it_can_be() -> None:
    """Jobs of a minute teach it to expect a minute; then one takes an hour."""
    short = [ask(f"s{at}", 8, submit=at * 100, duration=60) for at in range(12)]
    jobs = [*short, ask("long", 8, submit=2000, duration=3600), ask("late", 8, submit=2010, duration=60)]
    runs, delayed, seconds = told(jobs, Berth())
    assert (runs, delayed) == (1, 1)
    assert 3000 < seconds < 3600
    limited = [replace(job, limit_s=4000.0) for job in jobs]
    assert told(limited, Berth()) == (0, 0, 0)


def test_the_largest_gang_that_could_start_is_a_mean_over_full_hours() -> None:
    jobs = [ask("a", 4, duration=2 * 3600), ask("b", 2, submit=0, duration=4 * 3600 + 1)]
    found = play(jobs, nodes(2, rack="r")).record.gauge.plain()
    # At hours 1 and 2 a and b hold 6 of 8 on two nodes (a goes in the second hour's instant, after the look).
    assert found["largest_gang_gpus"] == {
        "node": (2 + 2 + 4 + 4) / 4,
        "rack": (2 + 2 + 6 + 6) / 4,
        "block": (2 + 2 + 6 + 6) / 4,
        "cluster": (2 + 2 + 6 + 6) / 4,
    }


def test_what_the_usual_jobs_cannot_use_is_a_share_of_the_free_gpu_time() -> None:
    jobs = [ask("a", 3, duration=3700), ask("b", 4, submit=10, duration=10, level="node", required=True)]
    found = play(jobs, nodes(1)).record.gauge.plain()
    # At hour 1 one GPU is free: neither a job of three nor a job of four in one node can use it.
    assert found["mix_fragmentation"] == pytest.approx(1.0)
    lone = [ask("a", 3, duration=3700), ask("c", 1, submit=20, duration=3600)]
    assert play(lone, nodes(2)).record.gauge.plain()["mix_fragmentation"] == pytest.approx(0.0)


def test_an_hour_in_which_nothing_ran_or_waited_does_not_count() -> None:
    found = play([ask("a", 8, duration=10), ask("b", 8, submit=9 * 3600, duration=10)]).record.gauge.plain()
    assert found == {
        "largest_gang_gpus": dict.fromkeys(("node", "rack", "block", "cluster")),
        "mix_fragmentation": None,
    }
