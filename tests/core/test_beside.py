"""Who stands behind leaves alone what was promised to those ahead, also when others go for it."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from scheduler.core import planner
from scheduler.core.model import Seat, Snapshot, Tier
from scheduler.core.planner import plan
from scheduler.core.risk import binding
from scheduler.core.table import Table
from scheduler.core.timeline import planned_end
from scheduler.core.verbs import Plan
from tests.core.builders import DAY, HOUR, MINUTE, NOW, drawn, job, run, snapshot, spot
from tests.core.worlds import rough, rough_worlds

LOW, HIGH = Tier.OPPORTUNISTIC, Tier.PRODUCTION
often = settings(max_examples=150, deadline=None, database=None)
# The first in line is promised both nodes of a rack, as soon as the run on the second has ended.
AHEAD = job(1, "2x8", level="rack", required=True, limit_s=HOUR)
SPOTS = [spot("a", rack="r1"), spot("b", "ssssssss", rack="r1"), spot("c", "oooooooo", rack="r2")]
ENDS = run(8, drawn(SPOTS, "s"), 30)
LOWER = run(9, drawn(SPOTS, "o"), tier=LOW)


def asked(found: Plan) -> dict[int, int]:
    return {stop.job: stop.for_job for stop in found.stops}


def promised(found: Plan) -> dict[int, float]:
    return {promise.job: (promise.at - NOW) / MINUTE for promise in found.promises}


def test_nobody_goes_for_a_job_behind_that_would_take_the_planned_place_of_the_one_ahead() -> None:
    behind = job(2, "2x8", limit_s=10 * HOUR)
    found = plan(snapshot(SPOTS, [AHEAD, behind], [ENDS, LOWER]))
    assert asked(found) == {}
    assert promised(found) == {1: 30, 2: 90}


def test_somebody_goes_for_a_job_behind_that_finds_its_place_beside() -> None:
    found = plan(snapshot(SPOTS, [AHEAD, job(2, limit_s=10 * HOUR)], [ENDS, LOWER]))
    assert asked(found) == {9: 2}
    assert promised(found) == {1: 30}


def test_what_has_ended_by_then_may_take_the_planned_place_before() -> None:
    found = plan(snapshot(SPOTS, [AHEAD, job(2, "2x8", limit_s=20 * MINUTE)], [ENDS, LOWER]))
    assert asked(found) == {9: 2}
    assert promised(found) == {1: 30}


def test_production_has_its_bound_whatever_was_promised_to_others() -> None:
    owner = job(2, "2x8", tier=HIGH, preemptible=False, limit_s=10 * HOUR)
    found = plan(snapshot(SPOTS, [AHEAD, owner], [ENDS, LOWER]))
    assert asked(found) == {8: 2}


def test_a_promised_place_stays_shut_when_who_sits_on_it_goes() -> None:
    """The gang sits on the second node too: it could go for the job behind, and would open the promised place."""
    spots = [spot("a", rack="r1"), spot("b", "ssssgggg", rack="r1"), spot("c", "oooogggg", rack="r2")]
    runs = [
        run(7, drawn(spots, "g"), 20, tier=LOW),
        run(8, drawn(spots, "s"), 30),
        run(9, drawn(spots, "o")),
    ]
    behind = job(2, "2x4", limit_s=10 * HOUR)
    assert asked(plan(snapshot(spots, [AHEAD, behind], runs))) == {}
    assert asked(plan(snapshot(spots, [behind], runs))) == {7: 2}
    assert asked(plan(snapshot(spots, [AHEAD, job(2, "4", limit_s=10 * HOUR)], runs))) == {7: 2}


@pytest.mark.parametrize(("shape", "called"), [("2x8", {}), ("1x8", {9: 2})])
def test_nobody_is_called_back_early_for_a_place_that_is_promised(shape: str, called: dict[int, int]) -> None:
    runs = [
        run(8, drawn(SPOTS, "s"), 30, submitted_at=NOW - 9 * DAY),
        run(9, drawn(SPOTS, "o"), submitted_at=NOW - 2 * HOUR),
    ]
    found = plan(snapshot(SPOTS, [AHEAD, job(2, shape, limit_s=10 * HOUR)], runs, teams=()))
    assert asked(found) == called
    assert promised(found)[1] == 30


class Watched(Table):
    """A table that can be looked at when the plan is made."""

    last: Table

    def __init__(self, *known: object) -> None:
        super().__init__(*known)  # type: ignore[arg-type]
        Watched.last = self


def watched(snap: Snapshot) -> tuple[Plan, Table]:
    with patch.object(planner, "Table", Watched):
        return plan(snap, evidence=False), Watched.last


def cells(seats: Iterable[Seat]) -> set[tuple[int, int]]:
    return {(seat.node, slot) for seat in seats for slot in seat.slots}


def bound(table: Table, number: int) -> frozenset[int]:
    """The promises that bind a job or, when a run moves, that bind the one for which it moves."""
    if number in table.waiting:
        return binding(table, table.waiting[number])
    makes_way = {stop.job: table.waiting[stop.for_job] for stop in table.stops}
    return binding(table, makes_way[number]) if number in makes_way else frozenset()


@often
@given(rough_worlds())
def test_nothing_that_a_plan_begins_lies_on_a_place_whose_promise_binds_it(snap: Snapshot) -> None:
    found, table = watched(snap)
    places = {promise.job: cells(promise.seats) for promise in found.promises}
    for one in (*found.starts, *found.claims):
        taken = cells(one.seats)
        assert [number for number in bound(table, one.job) if places[number] & taken] == []


@often
@given(rough_worlds())
def test_nothing_is_promised_where_a_gang_gets_a_seat_that_it_still_needs_then(snap: Snapshot) -> None:
    found = plan(snap, evidence=False)
    runs = {one.job: one for one in snap.running}
    for swap in found.swaps:
        end = planned_end(runs[swap.job], snap.taken_at, snap.policy)
        over = [one for one in found.promises if cells(one.seats) & cells((swap.into,)) and one.at < end]
        assert over == []


@often
@given(rough_worlds())
def test_no_gpu_is_given_to_two_whatever_for(snap: Snapshot) -> None:
    found = plan(snap, evidence=False)
    seats = [one.seats for one in (*found.starts, *found.claims)] + [(swap.into,) for swap in found.swaps]
    given = Counter(chain.from_iterable(cells(each) for each in seats))
    assert [cell for cell, times in given.items() if times > 1] == []


def test_in_those_worlds_promises_bind_those_for_whom_others_go() -> None:
    claims = begun = 0
    for seed in range(200):
        found, table = watched(rough(3 + seed % 6, 1 + seed % 9, seed))
        claims += sum(bool(bound(table, claim.job)) for claim in found.claims)
        begun += sum(bool(bound(table, start.job)) for start in found.starts)
    assert claims >= 4
    assert begun >= 15
