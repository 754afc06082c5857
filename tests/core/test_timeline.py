"""When places come free, and the first moment at which a job has one for as long as it may last."""

from math import inf

from scheduler.core.layout import Layout
from scheduler.core.model import Seat, Window
from scheduler.core.timeline import Future
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
