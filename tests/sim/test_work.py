"""The arithmetic of one run's work, as the contract puts it: "Time and work, exactly"."""

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.sim.work import ANSWER_S, Progress, answer, begin, goal
from tests.sim.stage import ask


def run(now: float = 0.0, *, number: int = 1, held: int = 4, **more: Any) -> Progress:
    return begin(now, ask("a", 4, **more), number=number, held=held)


@pytest.mark.parametrize(
    ("progress", "at", "done"),
    [
        pytest.param(run(10.0), 35.0, 25.0, id="the first run works from its start"),
        pytest.param(run(10.0, number=2, restart_s=20.0), 35.0, 5.0, id="a later one after its restart"),
        pytest.param(run(10.0, number=2, restart_s=20.0), 25.0, 0.0, id="and not before"),
        pytest.param(run(0.0, held=2), 50.0, 25.0, id="with half of its GPUs it is half as fast"),
        pytest.param(run(0.0, held=1, restart_s=9.0, number=3), 49.0, 10.0, id="both"),
    ],
)
def test_work_advances_at_the_rate_of_the_gpus_held(progress: Progress, at: float, done: float) -> None:
    assert progress.done(at) == done


@pytest.mark.parametrize(
    ("checkpoint_s", "held", "at", "saved", "since"),
    [
        pytest.param(30.0, 4, 100.0, 90.0, 90.0, id="every so many seconds of work"),
        pytest.param(30.0, 2, 100.0, 30.0, 60.0, id="of work, not of time"),
        pytest.param(50.0, 4, 100.0, 100.0, 100.0, id="one that falls on this instant counts"),
        pytest.param(101.0, 4, 100.0, 0.0, 0.0, id="before the first nothing is saved"),
        pytest.param(5e-324, 4, 100.0, 100.0, 100.0, id="without pause, where nobody could count them"),
        pytest.param(None, 4, 100.0, 0.0, 0.0, id="a job without checkpoints saves nothing"),
    ],
)
def test_checkpoints_fall_on_work_since_the_run_began(
    checkpoint_s: float | None, held: int, at: float, saved: float, since: float
) -> None:
    progress = run(held=held, checkpoint_s=checkpoint_s)
    assert (progress.saved(at), progress.saved_at(at)) == (saved, since)
    assert progress.unsaved(at) == progress.done(at) - saved


def test_rounding_does_not_miss_a_checkpoint() -> None:
    progress = begin(0.1, ask("a", 3, checkpoint_s=0.1), number=1, held=1)
    assert progress.saved(0.1 + 3 * 0.7) == pytest.approx(0.7)


def test_a_swap_goes_on_from_the_last_checkpoint_after_a_restart() -> None:
    progress = run(checkpoint_s=30.0, restart_s=5.0)
    assert progress.roll_back(100.0) == 10.0 * 4
    assert (progress.done(104.0), progress.done(105.0), progress.done(115.0)) == (90.0, 90.0, 100.0)
    assert progress.saved_at(104.0) == 90.0  # when it fell, not when it was rolled back to


def test_what_is_lost_counts_the_gpus_asked_for_because_work_does() -> None:
    progress = run(held=2, checkpoint_s=30.0)
    assert progress.roll_back(100.0) == (50.0 - 30.0) * 4


def test_a_second_swap_of_the_same_instant_loses_nothing_and_delays_nothing() -> None:
    progress = run(checkpoint_s=30.0, restart_s=5.0)
    progress.roll_back(100.0)
    assert progress.roll_back(100.0) == 0.0
    assert progress.done(115.0) == 100.0


def test_checkpoints_after_a_swap_stay_on_the_grid_of_the_run() -> None:
    progress = run(checkpoint_s=30.0, restart_s=0.0)
    progress.roll_back(100.0)
    assert progress.saved(129.0) == 90.0
    assert progress.saved(130.0) == 120.0


def test_an_asked_run_works_no_more() -> None:
    progress = run(checkpoint_s=30.0)
    progress.freeze(70.0)
    assert (progress.done(500.0), progress.saved(500.0), progress.saved_at(500.0)) == (70.0, 60.0, 60.0)


@pytest.mark.parametrize(
    ("left", "limit_s", "held", "end", "finishes"),
    [
        pytest.param(100.0, None, 4, 100.0, True, id="without a limit it finishes"),
        pytest.param(100.0, 100.0, 4, 100.0, True, id="work that ends exactly at the limit finishes"),
        pytest.param(100.0, 99.0, 4, 99.0, False, id="else it is stopped there"),
        pytest.param(100.0, 150.0, 2, 150.0, False, id="the limit counts seconds, not work"),
        pytest.param(100.0, 200.0, 2, 200.0, True, id="half the GPUs, twice the time, exactly the limit"),
        pytest.param(0.0, 1.0, 4, 0.0, True, id="no work ends at once"),
    ],
)
def test_a_run_ends_at_its_work_or_its_limit(
    left: float, limit_s: float | None, held: int, end: float, finishes: bool
) -> None:
    progress = run(held=held)
    found = goal(progress, left, limit_s)
    assert (progress.when(found.work), found.finishes) == (end, finishes)


def test_a_limit_does_not_count_what_was_rolled_back() -> None:
    progress = run(checkpoint_s=30.0, restart_s=5.0)
    progress.roll_back(100.0)
    assert progress.when(goal(progress, 1000.0, 120.0).work) == 105.0 + 30.0


@pytest.mark.parametrize(
    ("checkpoint_s", "grace_s", "expected"),
    [
        (60.0, 120.0, (ANSWER_S, True)),
        (60.0, ANSWER_S, (ANSWER_S, True)),
        (60.0, 1.0, (1.0, False)),
        (None, 120.0, (0.0, False)),
    ],
)
def test_only_a_job_with_checkpoints_acknowledges_and_only_within_its_grace(
    checkpoint_s: float | None, grace_s: float, expected: tuple[float, bool]
) -> None:
    assert answer(checkpoint_s, grace_s) == expected


AMOUNTS = st.floats(0.01, 1e6)


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(1, 8))
def test_what_is_saved_never_exceeds_what_is_done_and_lags_by_less_than_a_checkpoint(
    checkpoint_s: float, start: float, seconds: float, held: int
) -> None:
    progress = begin(start, ask("a", 8, checkpoint_s=checkpoint_s), number=1, held=held)
    now = start + seconds
    assert 0.0 <= progress.unsaved(now) <= checkpoint_s * (1 + 1e-6)
    assert start <= progress.saved_at(now) <= now * (1 + 1e-9)
    assert progress.since < inf
