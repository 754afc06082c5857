"""Elastic jobs: the largest size that fits now, and more GPUs later when that pays."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.elastic import Growth, grow, largest, sizes
from scheduler.core.maystop import Rules
from scheduler.core.model import Request, Running
from scheduler.core.quota import Books
from tests.core.builders import HOUR, NOW, Spot, board, drawn, run, snapshot, spot

SIZES = {
    "a plain request has one size": (Request(8), [8]),
    "an elastic one takes any multiple of its groups": (Request(8, tp=2, min_gpus=4), [4, 6, 8]),
    "from the first whole group on": (Request(8, tp=4, min_gpus=5), [8]),
    "an exact shape is not elastic": (Request(8, nodes=2, min_gpus=4), [8]),
}


@pytest.mark.parametrize("sentence", SIZES)
def test_sizes(sentence: str) -> None:
    request, expected = SIZES[sentence]
    assert list(sizes(request)) == expected


@given(st.integers(1, 4), st.integers(1, 40), st.integers(0, 200), st.integers(0, 45))
def test_the_largest_that_fits_is_found_in_a_few_looks(tp: int, groups: int, least: int, free: int) -> None:
    request = Request(tp * groups, tp=tp, min_gpus=min(least, tp * groups))
    looks: list[int] = []

    def fits(gpus: int) -> bool:
        looks.append(gpus)
        return gpus <= free * tp

    able = [size for size in sizes(request) if size <= free * tp]
    assert largest(request, fits) == (max(able) if able else None)
    assert len(looks) <= 8


def grown(spots: list[Spot], *runs: Running, most: int = 9, may: bool = True, **more: object) -> list[Growth]:
    snap = snapshot(spots, running=runs, teams=(), **more)  # type: ignore[arg-type]
    rules = Rules(snap, Books((), {"H100": 99}, runs))
    return list(grow(board(spots), runs, rules, lambda _, gpus: may or gpus <= 4, most=most))


def elastic(number: int, spots: list[Spot], letter: str, **more: object) -> Running:
    known: dict[str, object] = {
        "request": Request(8, min_gpus=2),
        "checkpoints": True,
        "expected_end": NOW + HOUR,
    }
    return run(number, drawn(spots, letter), **(known | more))


ROOM = [spot("n1", "aa##...."), spot("n2", "########")]


def test_a_run_takes_the_most_that_is_free_with_its_own() -> None:
    (one,) = grown(ROOM, elastic(1, ROOM, "a"))
    assert (one.run.job, one.gpus) == (1, 6)
    assert one.placement.seats[0].slots == (0, 1, 4, 5, 6, 7)


STAYS: dict[str, dict[str, object]] = {
    "it would end before that paid": {"expected_end": NOW + 150},
    "it has just started and nothing is known": {
        "expected_end": None,
        "started_at": NOW - 660,
        "restart_s": 250.0,
    },
    "it has not saved for long": {"checkpoints": False},
    "it is not elastic": {"request": Request(2)},
    "it is within its minimum runtime": {"started_at": NOW - 60},
    "it may not be stopped": {"preemptible": False},
    "it holds all it asked for": {"request": Request(2, min_gpus=1)},
}


@pytest.mark.parametrize("why", STAYS)
def test_a_run_stays_as_it_is_when(why: str) -> None:
    assert grown(ROOM, elastic(1, ROOM, "a", **STAYS[why])) == []


def test_a_run_of_unknown_length_that_ran_long_grows() -> None:
    assert len(grown(ROOM, elastic(1, ROOM, "a", expected_end=None))) == 1


def test_a_run_that_has_just_saved_grows_without_being_asked_to_save() -> None:
    assert len(grown(ROOM, elastic(1, ROOM, "a", checkpoints=False, saved_at=NOW - 30))) == 1


def test_quota_bounds_the_growth() -> None:
    assert [one.gpus for one in grown(ROOM, elastic(1, ROOM, "a"), may=False)] == [4]


def test_who_gains_most_goes_first_and_the_budget_counts() -> None:
    spots = [spot("n1", "aa##bb##"), spot("n2", "####....")]
    runs = (elastic(1, spots, "a"), elastic(2, spots, "b", expected_end=NOW + 9 * HOUR))
    assert [one.run.job for one in grown(spots, *runs, most=1)] == [2]
    assert grown(spots, *runs, most=0) == []
    both = grown(spots, *runs)
    assert [(one.run.job, one.gpus) for one in both] == [(2, 6)]
    seats = [(seat.node, slot) for one in both for seat in one.placement.seats for slot in seat.slots]
    assert len(seats) == len(set(seats))


def test_nothing_is_taken_twice_when_two_grow() -> None:
    spots = [spot("n1", "aa......"), spot("n2", "bb......")]
    runs = (elastic(1, spots, "a"), replace(elastic(2, spots, "b"), request=Request(4, min_gpus=2)))
    found = grown(spots, *runs)
    assert sorted((one.run.job, one.gpus) for one in found) == [(1, 8), (2, 4)]
    seats = [(seat.node, slot) for one in found for seat in one.placement.seats for slot in seat.slots]
    assert len(seats) == len(set(seats)) == 12
