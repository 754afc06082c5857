"""Decayed use: exact at every moment, and the same however often one looks."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.sim.usage import Usage
from scheduler.sim.workload import Fault
from tests.sim.stage import ask, play

ADA = ("vision", "ada")
WEEK = 7 * 86400.0


def test_what_was_used_halves_every_half_life() -> None:
    usage = Usage(100.0)
    usage.change(ADA, 8, 0.0)
    usage.change(ADA, -8, 10.0)
    at_once = usage.of(ADA, 10.0)
    assert at_once == pytest.approx(80.0, rel=0.05)  # the first seconds have faded a little by now
    assert usage.of(ADA, 110.0) == pytest.approx(at_once / 2)
    assert usage.of(ADA, 310.0) == pytest.approx(at_once / 8)


def test_what_is_held_for_ever_settles_at_the_half_life_over_ln_2() -> None:
    usage = Usage(100.0)
    usage.change(ADA, 8, 0.0)
    assert usage.of(ADA, 1e6) == pytest.approx(8 * 100 / log(2))


def test_who_never_held_a_gpu_has_used_nothing() -> None:
    assert Usage(WEEK).of(ADA, 5.0) == 0.0
    assert Usage(WEEK).all(5.0) == {}


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(-4, 8)), max_size=8),
    st.lists(st.floats(0, 1e6), max_size=8),
)
def test_looking_in_between_changes_nothing(changes: list[tuple[float, int]], looks: list[float]) -> None:
    plain, looked_at = Usage(86400.0), Usage(86400.0)
    for at, gpus in sorted(changes):
        plain.change(ADA, gpus, at)
    for at, gpus in sorted([*changes, *((at, 0) for at in looks)]):
        looked_at.change(ADA, gpus, at)
    assert looked_at.of(ADA, 2e6) == pytest.approx(plain.of(ADA, 2e6), rel=1e-6, abs=1e-6)


def test_runs_are_charged_to_their_team_and_user_while_they_hold_gpus() -> None:
    asks = [
        ask("a", 8, team="vision", user="ada"),
        ask("b", 4, submit=100, team="speech", user="bo", duration=50),
    ]
    world = play(asks, faults=[Fault(30, "n1", "down"), Fault(40, "n1", "up")]).record.world
    assert world.usage.all(world.now) == {
        ADA: pytest.approx(8 * (30 + 160), rel=1e-3),
        ("speech", "bo"): pytest.approx(4 * 50, rel=1e-3),
    }
    assert world.held == {("vision", "GPU"): 0, ("speech", "GPU"): 0}
