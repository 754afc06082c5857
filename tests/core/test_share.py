"""Decayed use: exact at every moment, whoever asks when, and free of the mistakes others made with it."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.share import Meter, Usage, accrued, decayed, used

WEEK = 7 * 86400.0
times = st.floats(0, 4 * WEEK)
lives = st.floats(1.0, 1e9)


def near(value: float) -> object:
    """The same number but for the last digits."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def test_half_is_left_after_one_half_life() -> None:
    assert decayed(800.0, WEEK, WEEK) == 400.0
    assert decayed(800.0, 3 * WEEK, WEEK) == 100.0


def test_decay_is_the_exact_power_and_not_its_first_order() -> None:
    assert decayed(1.0, WEEK / 2, WEEK) == pytest.approx(math.sqrt(0.5), rel=1e-15)


@given(times, lives)
def test_what_was_held_is_the_sum_of_all_its_seconds(dt: float, half_life: float) -> None:
    """Simpson's rule over the fading seconds."""
    steps = 2000
    points = [decayed(8.0, dt * step / steps, half_life) for step in range(steps + 1)]
    weights = [1, *(4 if step % 2 else 2 for step in range(1, steps)), 1]
    whole = sum(weight * point for weight, point in zip(weights, points, strict=True)) * dt / steps / 3
    if dt / half_life < 50:  # beyond it the rule is too coarse, not the formula
        assert accrued(8.0, dt, half_life) == pytest.approx(whole, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("half_life", [WEEK, 1e9, 1e12, 1e15])
def test_the_shortest_use_counts_however_long_the_half_life(half_life: float) -> None:
    assert accrued(1, 0.001, half_life) == pytest.approx(0.001, rel=1e-9)
    meter = Meter(half_life)
    for number in range(1000):
        meter.turn(+1, number * 1.0)
        meter.turn(-1, number * 1.0 + 0.001)
    # A millionth of the time it was in use, none of it rounded away.
    assert meter.read(1000.0) == pytest.approx(1.0, rel=1e-2)


def test_both_formulas_meet_where_one_takes_over() -> None:
    edge = 1e-3 / 0.6931471805599453 * WEEK
    below, above = accrued(8, edge * (1 - 1e-9), WEEK), accrued(8, edge * (1 + 1e-9), WEEK)
    assert below == pytest.approx(above, rel=1e-8)
    assert below < above


@given(st.lists(times, min_size=1, max_size=20), lives, st.integers(1, 64))
def test_looking_in_between_changes_nothing(looks: list[float], half_life: float, gpus: int) -> None:
    watched, alone = Meter(half_life), Meter(half_life)
    end = max(looks)
    for meter in (watched, alone):
        meter.turn(gpus, 0.0)
    for now in sorted(looks):
        watched.turn(0, now)
    assert watched.read(end) == near(alone.read(end))


@given(
    st.lists(st.tuples(st.integers(1, 64), times, times), max_size=8).flatmap(
        lambda spans: st.tuples(st.just(spans), st.permutations([*spans]))
    ),
    lives,
)
def test_news_in_any_order_give_the_same(
    told: tuple[list[tuple[int, float, float]], list[tuple[int, float, float]]], half_life: float
) -> None:
    orders = []
    for spans in told:
        meter = Meter(half_life)
        for gpus, one, other in spans:
            meter.turn(-gpus, max(one, other))
            meter.turn(+gpus, min(one, other))
        orders.append(meter)
    first, second = orders
    assert first.gpus == second.gpus == 0
    assert first.read(4 * WEEK) == pytest.approx(second.read(4 * WEEK), rel=1e-6, abs=1e-3)
    records = [(gpus, min(one, other), max(one, other)) for gpus, one, other in told[0]]
    assert first.read(4 * WEEK) == pytest.approx(used(records, 4 * WEEK, half_life), rel=1e-6, abs=1e-3)


@given(st.lists(st.tuples(st.integers(1, 64), times, times), max_size=8), lives)
def test_history_worked_out_anew_is_neither_lost_nor_counted_twice(
    spans: list[tuple[int, float, float]], half_life: float
) -> None:
    """A program that starts again reads its records; one that went on has its meters."""
    now = 2 * WEEK
    records = [(gpus, min(one, other), max(one, other)) for gpus, one, other in spans]
    going_on = Usage(half_life)
    turns = [(since, +gpus) for gpus, since, _ in records] + [(until, -gpus) for gpus, _, until in records]
    for at, gpus in sorted(turns):
        if at <= now:
            going_on.change(("vision", "mira"), gpus, at)
    anew = used(records, now, half_life)
    assert anew == pytest.approx(going_on.of(("vision", "mira"), now), rel=1e-6, abs=1e-3)


def test_use_that_was_over_can_be_added_later() -> None:
    meter = Meter(WEEK, at=0.0)
    meter.turn(0, 2 * WEEK)
    meter.add(800.0, WEEK)
    assert meter.read(3 * WEEK) == near(200.0)


def test_use_grows_while_held_and_fades_after() -> None:
    usage = Usage(WEEK)
    usage.change(("vision", "mira"), +8, 0.0)
    usage.change(("text", "joe"), +1, 0.0)
    usage.change(("vision", "mira"), -8, WEEK)
    seen = [usage.all(now)["vision", "mira"] for now in (WEEK, 1.5 * WEEK, 2 * WEEK)]
    assert all(later < earlier for earlier, later in pairwise(seen))
    assert usage.of(("text", "joe"), 2 * WEEK) > usage.of(("text", "joe"), WEEK)
    assert usage.of(("nobody", "yet"), WEEK) == 0.0


def test_steady_use_nears_a_ceiling_instead_of_growing_for_ever() -> None:
    meter = Meter(WEEK)
    meter.turn(8, 0.0)
    assert meter.read(100 * WEEK) == near(8 * WEEK / math.log(2))
