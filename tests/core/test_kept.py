"""A plan that rests on forecasts is kept from one round to the next, as long as its place can be had."""

from dataclasses import replace

import pytest

from scheduler.core.model import Promise, Window
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.verbs import Plan
from tests.core.builders import HOUR, NOW, Spot, drawn, job, run, snapshot, spot

MINUTE_LATER = NOW + 60
BOTH = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]


def again(
    *, first_h: float = 2.0, spots: list[Spot] = BOTH, windows: tuple[Window, ...] = ()
) -> tuple[Promise, Plan]:
    """What was planned first on node a in two hours, and the plan a minute later with other news."""
    ends = {"r": 2.0, "s": 3.0}
    held = [
        run(number, drawn(BOTH, letter), expected_end=NOW + hours * HOUR)
        for number, (letter, hours) in enumerate(ends.items(), 8)
    ]
    before = plan(snapshot(BOTH, [job(1, limit_s=HOUR)], held)).promises
    held[0] = replace(held[0], expected_end=NOW + first_h * HOUR)
    later = snapshot(spots, [job(1, limit_s=HOUR)], held, promises=before, windows=windows)
    return before[0], plan(replace(later, taken_at=MINUTE_LATER))


@pytest.mark.parametrize(("hours", "kept"), [(1.0, True), (1.9, True), (2.5, False), (20.0, False)])
def test_it_is_kept_until_no_forecast_bears_it(hours: float, kept: bool) -> None:
    """Forecasts change with every look: while one ends before the plan, the plan stays as it was told."""
    before, made = again(first_h=hours)
    assert (before.at, before.seats[0].node) == (NOW + 2 * HOUR, 1)
    assert (made.promises == (before,)) is kept


@pytest.mark.parametrize("why_not", ["drained", "lost"])
def test_it_is_made_anew_when_its_node_is_out_of_use(why_not: str) -> None:
    _, made = again(spots=[spot("a", "rrrrrrrr", why_not=why_not), BOTH[1]])
    assert [(one.at, one.seats[0].node) for one in made.promises] == [(NOW + 3 * HOUR, 2)]


@pytest.mark.parametrize(("begins_h", "ends_h", "node"), [(2.5, 9, 2), (1, 9, 2), (3, 9, 1), (1, 2, 1)])
def test_it_is_made_anew_when_a_window_falls_into_it(begins_h: float, ends_h: float, node: int) -> None:
    window = Window(NOW + begins_h * HOUR, NOW + ends_h * HOUR, frozenset({1}))
    _, made = again(windows=(window,))
    assert [one.seats[0].node for one in made.promises] == [node]


def test_it_is_made_anew_when_its_time_has_come() -> None:
    before, _ = again()
    held = [run(8 + at, drawn(BOTH, letter), expected_end=NOW + 9 * HOUR) for at, letter in enumerate("rs")]
    due = replace(snapshot(BOTH, [job(1)], held, promises=(before,)), taken_at=before.at - 0.5)
    assert [one.at for one in plan(due).promises] == [NOW + 9 * HOUR]


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_so_many_starts_are_planned_as_the_policy_says(depth: int) -> None:
    held = [run(8 + at, drawn(BOTH, letter), 60.0 * (1 + at)) for at, letter in enumerate("rs")]
    waiting = [job(number, limit_s=HOUR) for number in (1, 2, 3)]
    made = plan(snapshot(BOTH, waiting, held, policy=Policy(reservation_depth=depth)))
    assert [one.job for one in made.promises] == [1, 2, 3][:depth]


@pytest.mark.parametrize(
    ("age_h", "p90_h", "starts"),
    [(2, 9, [2]), (4, 9, []), (4, 0.5, [2]), (4, None, [2])],
    ids=["too young to bind", "would still run", "quick", "of unknown length"],
)
def test_nothing_long_starts_in_the_way_of_who_is_almost_due(
    age_h: float, p90_h: float | None, starts: list[int]
) -> None:
    """Guarded from three hours on, due after five."""
    spots = [BOTH[0], spot("b")]
    held = run(8, drawn(BOTH, "r"), expected_end=NOW + HOUR / 2)
    gang = job(1, "2x8", submitted_at=NOW - age_h * HOUR)
    young = job(2, submitted_at=NOW, p90_s=None if p90_h is None else p90_h * HOUR)
    policy = Policy(protect_after_s=5 * HOUR, guard_share=0.6)
    made = plan(snapshot(spots, [gang, young], [held], policy=policy))
    assert [start.job for start in made.starts] == starts
