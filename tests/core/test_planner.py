"""Whole rounds of the planner, as short stories: who starts, who makes way, who is promised what."""

from dataclasses import replace

import pytest

from scheduler.core.model import Share, Snapshot, Tier, Window
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan, Why
from tests.core.builders import DAY, HOUR, MINUTE, NOW, drawn, job, run, snapshot, spot, tree

LOW, HIGH = Tier.OPPORTUNISTIC, Tier.PRODUCTION


def started(found: Plan) -> list[int]:
    return sorted(start.job for start in found.starts)


def reasons(found: Plan) -> dict[int, Reason]:
    return {verdict.job: verdict.reason for verdict in found.verdicts}


def gone(snap: Snapshot, found: Plan) -> Snapshot:
    """The next look: whoever was asked to go has gone, and nothing else happened."""
    asked = {stop.job for stop in found.stops}
    free = snap.free.copy()
    for each in snap.running:
        for seat in each.seats if each.job in asked else ():
            free[seat.node - 1, list(seat.slots)] = True
    rest = tuple(each for each in snap.running if each.job not in asked)
    return replace(snap, free=free, running=rest, claims=found.claims, promises=found.promises)


def test_everybody_starts_where_there_is_room() -> None:
    found = plan(snapshot([spot("a"), spot("b")], [job(1), job(2, "1x4"), job(3, "1x4")]))
    assert started(found) == [1, 2, 3]
    assert found.verdicts == ()


def test_a_head_that_does_not_fit_is_promised_the_first_place_that_comes_free() -> None:
    spots = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
    running = [run(8, drawn(spots, "r"), 30), run(9, drawn(spots, "s"), 90)]
    found = plan(snapshot(spots, [job(1, "2x8", limit_s=HOUR)], running))
    assert [(promise.job, promise.at) for promise in found.promises] == [(1, NOW + 90 * MINUTE)]


@pytest.mark.parametrize(("limit_min", "starts"), [(90, True), (91, False)])
def test_a_limit_that_ends_by_the_promised_start_slips_in_and_a_longer_one_waits(limit_min, starts) -> None:
    spots = [spot("a"), spot("b", "ssssssss")]
    waiting = [job(1, "2x8", limit_s=HOUR), job(2, "1x8", limit_s=limit_min * MINUTE)]
    found = plan(snapshot(spots, waiting, [run(9, drawn(spots, "s"), 90)]))
    assert (2 in started(found)) is starts
    assert starts or reasons(found)[2] is Reason.RESERVED


def test_without_limits_the_younger_starts_on_recall() -> None:
    spots = [spot("a"), spot("b", "ssssssss")]
    known = {"expected_end": NOW + HOUR}
    found = plan(snapshot(spots, [job(1, "2x8"), job(2)], [run(9, drawn(spots, "s"), None, **known)]))
    assert [(start.job, start.on_recall) for start in found.starts] == [(2, True)]


def test_what_may_not_be_stopped_never_starts_in_the_way_of_a_promise() -> None:
    spots = [spot("a"), spot("b", "ssssssss")]
    known = {"expected_end": NOW + HOUR}
    waiting = [job(1, "2x8"), job(2, preemptible=False)]
    found = plan(snapshot(spots, waiting, [run(9, drawn(spots, "s"), None, **known)]))
    assert started(found) == []


def test_production_sends_the_lowest_tier_away_and_gets_its_place() -> None:
    spots = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
    running = [run(8, drawn(spots, "r"), tier=LOW), run(9, drawn(spots, "s"))]
    snap = snapshot(spots, [job(1, tier=HIGH, preemptible=False), job(2)], running)
    first = plan(snap)
    assert [(stop.job, stop.why, stop.for_job) for stop in first.stops] == [(8, Why.PREEMPTED, 1)]
    assert reasons(first)[1] is Reason.STOPPING_OTHERS
    second = plan(gone(snap, first))
    assert started(second) == [1]
    assert second.claims == ()


def test_what_is_freed_for_one_is_taken_by_nobody_else() -> None:
    spots = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
    running = [run(8, drawn(spots, "r"), tier=LOW), run(9, drawn(spots, "s"), tier=LOW)]
    snap = snapshot(spots, [job(1, "2x8", tier=HIGH, preemptible=False)], running)
    first = plan(snap)
    assert {stop.job for stop in first.stops} == {8, 9}
    # One has gone, the other still saves its work; a smaller production job comes in between.
    half = replace(snap.running[1], stopping=True, asked_at=NOW)
    free = snap.free.copy()
    free[0] = True
    newer = job(0, tier=HIGH, preemptible=False)
    later = replace(snap, free=free, running=(half,), claims=first.claims, waiting=(*snap.waiting, newer))
    second = plan(later)
    assert started(second) == []
    assert [claim.job for claim in second.claims] == [1]


def test_lent_quota_comes_back_to_its_owner_whatever_the_tiers() -> None:
    teams = tree(("vision", None, {"H100": Share(8, 8)}), ("speech", None, {"H100": Share(8, 8)}))
    spots = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
    running = [run(8, drawn(spots, "r"), team="speech"), run(9, drawn(spots, "s"), team="speech")]
    found = plan(snapshot(spots, [job(1)], running, teams))
    assert [(stop.why, stop.for_job) for stop in found.stops] == [(Why.RECLAIMED, 1)]


@pytest.mark.parametrize(("age_h", "stops"), [(1, 0), (57, 1)])
def test_age_recalls_what_started_ahead_and_not_before(age_h, stops) -> None:
    spots = [spot("a", "rrrrrrrr")]
    old = job(1, submitted_at=NOW - age_h * HOUR)
    ahead = run(8, drawn(spots, "r"), submitted_at=NOW - 0.9 * HOUR, started_at=NOW - 0.5 * HOUR)
    found = plan(snapshot(spots, [old], [ahead]))
    assert [stop.why for stop in found.stops] == [Why.RECALLED] * stops


AHEAD = {"submitted_at": NOW - HOUR, "started_at": NOW - HOUR + MINUTE}
EARLY = {  # sentence: (hours that each of those who wait has waited, of the run, whether it is called back)
    "their wait outweighs what it loses": ([2.0], {}, True),
    "three short waits outweigh it together": ([0.9, 0.9, 0.9], {"submitted_at": NOW - 0.8 * HOUR}, True),
    "what it loses outweighs their wait": ([1.1], {}, False),
    "it saves its work and loses next to nothing": ([1.1], {"checkpoints": True}, True),
    "a limit says when it ends": ([2.0], {"ends_by": NOW + HOUR}, False),
    "it has not run for long": ([2.0], {"started_at": NOW - 29 * MINUTE}, False),
    "it was called back three times": ([2.0], {"stops": 3}, False),
    "it was submitted before them": ([2.0], {"submitted_at": NOW - 3 * HOUR}, False),
}


@pytest.mark.parametrize("sentence", EARLY)
def test_before_they_are_due_younger_work_is_called_back_when(sentence: str) -> None:
    waits, told, goes = EARLY[sentence]
    spots = [spot("a", "rrrrrrrr")]
    waiting = [job(n, submitted_at=NOW - h * HOUR, forecast_s=600.0) for n, h in enumerate(waits, start=1)]
    found = plan(snapshot(spots, waiting, [run(8, drawn(spots, "r"), **(AHEAD | told))]))
    assert [stop.why for stop in found.stops] == [Why.RECALLED] * goes
    assert [claim.job for claim in found.claims] == [1] * goes


def test_who_made_way_stands_behind_the_fresh_jobs_of_its_owner_until_it_is_protected_again() -> None:
    again, fresh = (
        job(1, stops=1, seen_s=3 * HOUR, forecast_s=DAY, stopped_at=NOW - HOUR),
        job(2, forecast_s=MINUTE),
    )
    assert started(plan(snapshot([spot("a")], [again, fresh]))) == [2]
    assert started(plan(snapshot([spot("a")], [replace(again, limit_s=DAY), fresh]))) == [1]
    protected = replace(again, stopped_at=NOW - Policy().protect_again_s)
    assert started(plan(snapshot([spot("a")], [protected, fresh]))) == [1]


def test_nobody_starts_on_a_node_whose_maintenance_begins_before_its_limit() -> None:
    window = Window(NOW + HOUR, NOW + 2 * HOUR, frozenset({1}))
    waiting = [job(1, limit_s=2 * HOUR), job(2, limit_s=0.5 * HOUR)]
    found = plan(snapshot([spot("a")], waiting, windows=(window,)))
    assert started(found) == [2]


def test_the_quickest_goes_first_behind_a_blocked_head() -> None:
    spots = [spot("a", "....rrrr"), spot("b", "ssssssss")]
    known = {"expected_end": NOW + DAY}
    running = [run(8, drawn(spots, "r"), None, **known), run(9, drawn(spots, "s"), None, **known)]
    waiting = [job(1, "2x8"), job(2, "1x4", forecast_s=9 * HOUR), job(3, "1x4", forecast_s=MINUTE)]
    policy = Policy(reservation_depth=1)
    assert started(plan(snapshot(spots, waiting, running, policy=policy))) == [3]


def test_a_desk_kept_from_the_round_before_changes_nothing() -> None:
    spots = [spot("a", "rrrr...."), spot("b", "ssssssss")]
    running = [run(8, drawn(spots, "r"), 30), run(9, drawn(spots, "s"), 90, tier=LOW)]
    waiting = [job(1, "2x8"), job(2, "1x4", tier=HIGH), job(3, "1x2", limit_s=60.0), job(4, "16")]
    snap, desk = snapshot(spots, waiting, running), Desk()
    assert plan(snap, desk) == plan(snap, desk) == plan(snap)


def test_those_who_made_way_do_not_come_back_before_the_one_they_made_way_for() -> None:
    """What was stopped too often for a loan needs its team's own quota; its victims could borrow, and take it away."""
    spots = [spot("a", "rrrrssss"), spot("b", "........")]
    teams = tree(("vision", None, {"H100": 8}), ("speech", None, {"H100": 8}))
    running = [
        run(8, drawn(spots, "r"), tier=LOW),
        run(9, drawn(spots, "s"), tier=LOW, checkpoints=True),
    ]
    snap = snapshot(spots, [job(1, tier=HIGH, stops_today=3)], running, teams=teams)
    first = plan(snap)
    assert {stop.job for stop in first.stops} == {8, 9}
    going = replace(running[1], stopping=True, asked_at=NOW)
    again = replace(job(8, "4", tier=LOW), submitted_at=NOW - HOUR, stops=1, stopped_at=NOW)
    later = replace(gone(snap, first), waiting=(*snap.waiting, again), running=(going,))
    free = later.free.copy()
    free[0, 4:] = False
    second = plan(replace(later, free=free))
    assert second.starts == ()
    assert reasons(second) == {1: Reason.STOPPING_OTHERS, 8: Reason.RESERVED}
    third = plan(replace(later, running=(), claims=second.claims))
    assert started(third) == [1, 8]


def test_who_had_its_turn_does_not_stand_in_the_way_of_those_who_ask_for_the_same() -> None:
    spots = [spot("a", "rrrrrrrr")]
    long = job(1, submitted_at=NOW - DAY, stops=1, seen_s=9 * HOUR, stopped_at=NOW - HOUR)
    fresh = job(2, submitted_at=NOW - 2 * HOUR, forecast_s=600.0)
    found = plan(snapshot(spots, [long, fresh], [run(8, drawn(spots, "r"), **AHEAD)]))
    assert [(stop.why, stop.for_job) for stop in found.stops] == [(Why.RECALLED, 2)]
