"""Tests of scheduler.sim.history and forecast: figures from ended runs, drawn to broader groups where few are alike."""

from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.sim.forecast import QUANTA, Forecast, foresee, kinsfolk
from scheduler.sim.history import History, Kin, size_class

MINE = Kin("vision", "ada", 8)
LENGTHS = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=60)


def learned(*lengths: float, kin: Kin = MINE) -> History:
    history = History()
    for length in lengths:
        history.learn(kin, length)
    return history


def told(
    history: History, *, kin: Kin = MINE, seen: float = 0.0, done: float = 0.0, saves: bool = False
) -> Forecast:
    return foresee(kinsfolk(history, kin, seen).tails, done=done, saves=saves)


def test_many_equal_runs_foretell_the_next() -> None:
    figures = told(learned(*[500.0] * 400))
    assert figures == pytest.approx((500.0, 500.0, 500.0))


def test_without_history_a_job_runs_as_long_again_as_it_has_run() -> None:
    assert told(History()).p50_s == pytest.approx(600.0, rel=0.01)
    assert told(History(), seen=10_000.0).p50_s == pytest.approx(20_600.0, rel=0.01)
    assert told(History(), seen=10_000.0, done=10_000.0).p50_s == pytest.approx(10_600.0, rel=0.01)


def test_only_runs_longer_than_what_was_seen_speak() -> None:
    history = learned(*[60.0] * 200, *[7200.0] * 200)
    assert told(history).p50_s == pytest.approx(60.0)
    assert told(history, seen=60.0).p50_s == pytest.approx(7200.0)
    assert told(history, seen=60.0, done=50.0).p50_s == pytest.approx(7150.0)


def test_a_job_that_saves_is_worth_a_short_try_and_one_that_does_not_costs_its_whole_length() -> None:
    history = learned(*[60.0, 60.0, 60.0, 9940.0] * 320)
    # Three of four end within 60 s: 80 s of running for each end, if the fourth is put off then.
    assert told(history, saves=True).index_s == pytest.approx(80.0)
    assert told(history, saves=False).index_s == pytest.approx(2530.0)


def test_a_small_group_is_drawn_to_the_broader_ones_and_a_large_one_is_not() -> None:
    others = Kin("speech", "bob", 8)
    few, many = learned(*[100.0] * 400, kin=others), learned(*[100.0] * 400, kin=others)
    for number in range(300):
        many.learn(MINE, 5000.0)
        if number < 3:
            few.learn(MINE, 5000.0)
    assert told(few).p50_s == pytest.approx(100.0, rel=0.01)
    assert 100.0 < told(few).index_s < 2600.0
    assert told(many) == pytest.approx((5000.0, 5000.0, 5000.0))


def test_the_same_user_says_more_than_the_same_size() -> None:
    history = learned(*[50_000.0] * 500, kin=Kin("speech", "bob", 4))
    for _ in range(40):
        history.learn(Kin("vision", "ada", 4), 100.0)
    assert told(history).p50_s == pytest.approx(100.0, rel=0.01)
    assert told(history, kin=Kin("vision", "eve", 8)).p50_s == pytest.approx(50_000.0)


def test_a_limit_bounds_every_figure() -> None:
    assert told(learned(*[5000.0] * 400)).within(3600.0) == (3600.0, 3600.0, 3600.0)
    assert told(learned(*[500.0] * 400)).within(3600.0) == pytest.approx((500.0, 500.0, 500.0))
    assert told(learned(*[500.0] * 400)).within(None) == pytest.approx((500.0, 500.0, 500.0))


def test_a_group_answers_anew_only_when_it_has_grown_by_a_sixteenth() -> None:
    history, changed = History(), list[int]()
    for number in range(1, 200):
        if history.learn(MINE, float(number)):
            changed.append(number)
    gaps = [later - earlier for earlier, later in pairwise(changed)]
    assert changed[:16] == list(range(1, 17))
    assert all(gap <= at // 16 + 1 for gap, at in zip(gaps, changed, strict=False))
    assert len(changed) < 80


def test_a_group_that_is_not_heard_cannot_change_a_forecast() -> None:
    history = learned(*[500.0] * 400)
    assert kinsfolk(history, MINE).heard == MINE.path[:1]
    assert kinsfolk(History(), MINE).heard == MINE.path


def test_sizes_fall_into_four_classes() -> None:
    assert [size_class(gpus) for gpus in (1, 8, 9, 32, 33, 128, 129, 4096)] == [0, 0, 1, 1, 2, 2, 3, 3]


@given(LENGTHS, LENGTHS, st.floats(0.0, 2e6), st.booleans())
def test_figures_are_ordered_and_never_shorter_than_what_was_seen(
    mine: list[float], theirs: list[float], seen: float, saves: bool
) -> None:
    history = learned(*mine)
    for length, user in zip(theirs, count(), strict=False):
        history.learn(Kin("other", str(user), 8), length)
    figures = told(history, seen=seen, saves=saves)
    assert seen <= figures.p50_s <= figures.p90_s
    assert figures.index_s > 0.0


@given(LENGTHS, st.floats(0.0, 0.99), st.booleans())
def test_the_index_is_the_least_time_per_end_by_the_definition(
    lengths: list[float], saved: float, saves: bool
) -> None:
    seen = min(lengths) * 0.9
    done = seen * saved
    tails = kinsfolk(learned(*lengths), MINE, seen).tails
    main = max(tails, key=lambda tail: tail.weight)
    givings_up = [main.at(share) for share in QUANTA] if saves else []
    costs = []
    for length in (*givings_up, max(tail.known[-1] for tail in tails)):
        ends = ran = 0.0
        for tail in tails:
            members = tail.known[tail.first :]
            ends += tail.weight * sum(one <= length for one in members) / len(members)
            ran += tail.weight * sum(min(one, length) - done for one in members) / len(members)
        costs.append(max(1.0, ran) / ends)
    assert foresee(tails, done=done, saves=saves).index_s == pytest.approx(min(costs), rel=1e-6)
