"""When places come free, and the first moment at which a job has one for as long as it may last."""

from math import inf
from random import Random

import pytest

from scheduler.core import timeline
from scheduler.core.board import Board
from scheduler.core.explain import sentence
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Seat, Window
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.timeline import Future
from scheduler.core.verbs import Plan
from tests.core.builders import HOUR, NOW, drawn, job, run, snapshot, spot

SPOTS = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
LIMITED = [run(8, drawn(SPOTS, "r"), 30), run(9, drawn(SPOTS, "s"), 90)]


def future(running, spots=SPOTS, **more) -> Future:
    snap = snapshot(spots, (), running, **more)
    return Future(snap, Layout(snap.nodes))


def test_a_gang_of_two_nodes_waits_for_the_second_end() -> None:
    found = future(LIMITED).earliest(job(1, "2x8"), HOUR)
    assert found is not None
    assert (found.at, found.certain) == (NOW + 1.5 * HOUR, True)


def test_what_rests_on_a_forecast_is_not_certain() -> None:
    guessed = run(8, drawn(SPOTS, "r"), None, expected_end=NOW + HOUR)
    found = future([guessed, LIMITED[1]]).earliest(job(1), inf)
    assert found is not None
    assert (found.at, found.certain) == (NOW + HOUR, False)


def test_without_any_known_end_there_is_no_date() -> None:
    endless = [run(8, drawn(SPOTS, "r")), run(9, drawn(SPOTS, "s"))]
    assert future(endless).earliest(job(1), inf) is None


def test_a_booked_place_is_free_before_and_after_its_time_only() -> None:
    ahead = future(LIMITED)
    ahead.book(7, NOW + 0.5 * HOUR, NOW + 2 * HOUR, [Seat(1, tuple(range(8)))])
    found = ahead.earliest(job(1), 4 * HOUR)
    assert found is not None
    assert (found.at, found.placement.seats[0].node) == (NOW + 1.5 * HOUR, 2)
    assert ahead.clashes([Seat(1, (0,))], NOW + HOUR) == [7]
    assert ahead.clashes([Seat(1, (0,))], NOW + 0.5 * HOUR) == []


def test_nothing_is_planned_into_a_maintenance_window() -> None:
    window = Window(NOW + HOUR, NOW + 3 * HOUR, frozenset({1}))
    found = future((), [spot("a")], windows=(window,)).earliest(job(1), 2 * HOUR)
    assert found is not None
    assert found.at == NOW + 3 * HOUR


@pytest.mark.parametrize("seed", range(40))
def test_the_first_moment_is_what_looking_at_every_moment_finds(seed: int) -> None:
    """With many ends, windows and bookings, most of which leave too little."""
    dice = Random(seed)
    spots = [spot(name, "rrrrrrrr") for name in "abcd"]
    runs = [
        run(9 + number, [Seat(number // 8 + 1, (number % 8,))], dice.randrange(1, 90)) for number in range(32)
    ]
    windows = tuple(
        Window(
            NOW + begins * 60,
            NOW + (begins + dice.randrange(1, 300)) * 60,
            frozenset(dice.sample(range(1, 5), 3)),
        )
        for begins in (dice.randrange(120) for _ in range(3))
    )
    ahead = future(runs, spots, windows=windows)
    for number in range(5):
        begins = NOW + dice.randrange(200) * 60
        ends = begins + dice.randrange(1, 100) * 60
        ahead.book(100 + number, begins, ends, [Seat(dice.randrange(1, 5), tuple(range(8)))])
    wanted, lasts_s = job(1, dice.choice(["1", "1x8", "2x4", "3x8"])), dice.randrange(1, 200) * 60.0
    found = ahead.earliest(wanted, lasts_s)
    minutes = (NOW + minute * 60 for minute in range(700))
    first = next(at for at in minutes if fits(ahead, wanted, at, lasts_s))
    assert found is not None
    assert found.at == first


def fits(ahead: Future, wanted: Job, at: float, lasts_s: float) -> bool:
    board = Board(ahead.layout, ahead.free(at, at + lasts_s))
    return board.place(wanted.request, tier=wanted.tier, policy=ahead.policy) is not None


# Four nodes on which one GPU after the other comes free, and all of them shut until four hours from now.
MANY = [spot(name, "rrrrrrrr") for name in "abcd"]
ENDING = [run(9 + at, [Seat(at // 8 + 1, (at % 8,))], 40 + at, preemptible=False) for at in range(32)]


def told(begins_h: float, ends_h: float, limit_s: float) -> tuple[Plan, str]:
    window = Window(NOW + begins_h * HOUR, NOW + ends_h * HOUR, frozenset({1, 2, 3, 4}))
    made = plan(snapshot(MANY, [job(1, "1", limit_s=limit_s)], ENDING, windows=(window,)))
    return made, sentence(made.verdicts[0].reason, made.verdicts[0].numbers)


def test_many_ends_inside_a_window_do_not_hide_the_place_behind_it() -> None:
    made, _ = told(0.5, 4, HOUR / 2)
    assert [promise.at for promise in made.promises] == [NOW + 4 * HOUR]


def test_a_search_that_ends_without_an_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "PROBES", 0)
    made, said = told(0.5, 4, HOUR / 2)
    assert made.promises == ()
    assert said.endswith("The search for a place for it ended before it was complete.")


def test_room_inside_a_window_is_no_room_and_before_one_it_is_not_certain() -> None:
    policy = Policy(reservation_depth=0)
    for begins_h, ends_h, sure, minutes in ((0.5, 4, 1, 240), (3, 9, 0, 40), (0.1, 0.2, 1, 40)):
        window = Window(NOW + begins_h * HOUR, NOW + ends_h * HOUR, frozenset({1, 2, 3, 4}))
        snap = snapshot(MANY, [job(1, "1", limit_s=HOUR)], ENDING, windows=(window,), policy=policy)
        numbers = plan(snap).verdicts[0].numbers
        assert (numbers["certain"], numbers["ends_in_min"]) == (sure, minutes)
