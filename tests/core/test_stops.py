"""Whole plans in which somebody might be stopped: for nothing that could be had without."""

import pytest

from scheduler.core.capacity import outside
from scheduler.core.model import Claim, Seat, Share, Team, Tier
from scheduler.core.planner import plan
from scheduler.core.quota import Books
from scheduler.core.table import Desk
from scheduler.core.verbs import Why
from tests.core.builders import DAY, HOUR, NOW, drawn, job, run, snapshot, spot, tree

H = "H100"


def test_what_runs_on_while_its_node_drains_takes_nothing_of_what_is_left() -> None:
    """X keeps 4 idle, and of the 14 free GPUs the other 10 are enough for the owner: nobody goes."""
    spots = [spot("a"), spot("b", "zzzzzzzz", why_not="drained"), spot("c", "cc......")]
    teams = tree(("x", None, {H: Share(4, lend=0)}), ("y", None, {H: 12}), ("z", None, {H: 0}))
    runs = [run(8, drawn(spots, "z"), team="z"), run(9, drawn(spots, "c"), team="z")]
    made = plan(snapshot(spots, [job(1, "4", team="y")], runs, teams))
    assert [start.job for start in made.starts] == [1]
    assert made.stops == ()


def test_who_goes_from_a_node_that_drains_leaves_nothing_behind() -> None:
    spots = [spot("a", "aa......"), spot("b", "bbbb....", why_not="drained"), spot("c", "0.", links="0-")]
    runs = [run(number, drawn(spots, letter)) for number, letter in enumerate("ab", 1)]
    snap = snapshot(spots, (), runs)
    desk = Desk()
    desk.clear_for(snap)
    books = Books(desk.lineage, desk.capacity, runs, outside(desk.layout, runs))
    assert books.page(H).capacity == 8 + 4 + 1
    for one, left in zip(runs, (13, 9), strict=True):
        gone = books.copy()
        gone.gone(one)
        assert gone.page(H).capacity == left
        gone.stays(one)
        assert gone.page(H).capacity == 13


def reclaimed_for(asker: str, *teams: Team, slots: str = "aaaabbbb") -> list[tuple[Why, int]]:
    """Vision runs two gangs of 4; production of another team wants 4."""
    spots = [spot("a", slots)]
    runs = [run(number, drawn(spots, letter)) for number, letter in enumerate("ab", 8)]
    made = plan(snapshot(spots, [job(1, "4", team=asker, tier=Tier.PRODUCTION)], runs, teams))
    return [(stop.why, stop.for_job) for stop in made.stops]


def test_a_level_takes_back_its_own_from_a_team_below_that_borrowed_it() -> None:
    """Nobody below was promised these 4; production of the level itself is inside them."""
    teams = tree(("org", None, {H: Share(8, borrow=0)}), ("vision", "org", {H: 4}))
    assert reclaimed_for("org", *teams) == [(Why.RECLAIMED, 1)]


def test_a_sister_takes_back_its_own_though_the_level_above_is_at_its_limit() -> None:
    teams = tree(("org", None, {H: Share(8, borrow=0)}), ("vision", "org", {H: 4}), ("text", "org", {H: 4}))
    assert reclaimed_for("text", *teams) == [(Why.RECLAIMED, 1)]


def test_an_owner_takes_back_its_own_where_what_is_free_is_kept_for_another() -> None:
    teams = tree(("vision", None, {H: 4}), ("text", None, {H: 4}), ("keeps", None, {H: Share(4, lend=0)}))
    assert reclaimed_for("text", *teams, slots="aaaabbbb....") == [(Why.RECLAIMED, 1)]


def test_nobody_goes_where_the_level_above_stays_at_its_limit() -> None:
    """Vision is inside its own: the level above promised more than it may hold."""
    teams = tree(("org", None, {H: Share(8, borrow=0)}), ("vision", "org", {H: 8}), ("text", "org", {H: 4}))
    assert reclaimed_for("text", *teams) == []


@pytest.mark.parametrize("stopping", [True, False])
def test_nobody_goes_for_quota_that_is_on_its_way_already(stopping: bool) -> None:
    """Org is at its limit, but one that was asked for somebody else takes 4 along when it goes."""
    spots = [spot("a", "aaaabbbb"), spot("b")]
    teams = tree(("org", None, {H: Share(8, borrow=0)}), ("vision", "org", {H: 0}), ("text", "org", {H: 4}))
    runs = [
        run(8, drawn(spots, "a"), team="text", stopping=stopping),
        run(9, drawn(spots, "b"), team="vision"),
    ]
    made = plan(snapshot(spots, [job(1, "2", team="org")], runs, teams))
    assert [stop.job for stop in made.stops] == ([] if stopping else [9])
    assert made.claims == () or not stopping


def test_two_places_that_are_being_made_do_not_count_on_the_same_memory() -> None:
    """Four GPUs each, and memory for six: the second waits though its GPUs come free as well."""
    spots = [spot("a", "aaaabbbb", memory_gib=48.0)]
    low = {"tier": Tier.OPPORTUNISTIC}
    runs = [run(number, drawn(spots, letter), **low) for number, letter in enumerate("ab", 8)]
    asks = [job(number, "4", tier=Tier.PRODUCTION, memory_gib_per_gpu=8.0) for number in (1, 2)]
    made = plan(snapshot(spots, asks, runs))
    assert [claim.job for claim in made.claims] == [1]
    empty = [spot("a", memory_gib=48.0)]
    seats = (made.claims[0].seats, (Seat(1, (4, 5, 6, 7)),))
    claims = tuple(Claim(number, where, (7,), NOW) for number, where in enumerate(seats, 1))
    assert [start.job for start in plan(snapshot(empty, asks, claims=claims)).starts] == [1]


def test_who_was_running_when_younger_work_started_does_not_call_it_back() -> None:
    spots = [spot("a", "aaaaaaaa")]
    young = run(9, drawn(spots, "a"), submitted_at=NOW - HOUR, started_at=NOW - HOUR)
    ended = ((None, [9]), (NOW - 2 * HOUR, [9]), (NOW - HOUR, []), (NOW - HOUR / 2, []))
    for ran_until, called in ended:  # in one instant the young may have started first
        old = job(1, submitted_at=NOW - 99 * DAY, ran_until=ran_until)
        made = plan(snapshot(spots, [old], [young]))
        assert [stop.job for stop in made.stops] == called


def test_production_waits_only_for_older_production_that_is_due_or_planned_by_limits() -> None:
    """The old gang is planned on both nodes; what comes may not be called back later."""
    spots = [spot("a"), spot("b", "bbbbbbbb")]
    held = run(9, drawn(spots, "b"), 5.0, preemptible=False)
    high, low = Tier.PRODUCTION, Tier.STANDARD
    for tier, old, age, starts in (
        (high, low, 99, [2]),
        (high, high, 0, []),
        (high, high, 99, []),
        (low, low, 99, []),
    ):
        gang = job(1, "2x8", tier=old, submitted_at=NOW - age * DAY - 1)
        young = job(2, "1", tier=tier, preemptible=False, submitted_at=NOW)
        made = plan(snapshot(spots, [gang, young], [held]))
        assert [start.job for start in made.starts] == starts


def test_a_plan_beyond_the_bound_of_production_keeps_none_waiting_that_has_a_bound() -> None:
    """Inside its nominal production starts within minutes; where it asks for more, the older goes first."""
    spots, high = [spot("a"), spot("b", "bbbbbbbb")], Tier.PRODUCTION
    teams = tree(("held", None, {H: 8}), ("vision", None, {H: 24}), ("text", None, {H: 0}))
    for ends_min, team, starts in ((5, "vision", []), (600, "vision", [2]), (600, "text", [])):
        held = run(9, drawn(spots, "b"), ends_min, preemptible=False, team="held")
        gang = job(1, "2x8", tier=high, limit_s=HOUR, preemptible=False)
        young = job(2, "1", team=team, tier=high, limit_s=9 * DAY, preemptible=team == "text")
        made = plan(snapshot(spots, [gang, young], [held], teams))
        assert [start.job for start in made.starts] == starts
        told = next(one for one in made.verdicts if one.job == 1)
        assert told.numbers.get("certain") == int(ends_min == 5)


@pytest.mark.parametrize(
    ("limit_s", "ends_min", "starts"),
    [(HOUR, 30.0, []), (HOUR, 60.0, [2]), (None, 5.0, []), (None, 30.0, [2])],
    ids=["too long", "short enough", "could not be gone by then", "could be gone by then"],
)
def test_a_lower_tier_does_not_delay_a_start_that_limits_say(
    limit_s: float | None, ends_min: float, starts: list[int]
) -> None:
    spots = [spot("a"), spot("b", "bbbbbbbb")]
    held = run(9, drawn(spots, "b"), ends_min, preemptible=False)
    gang = job(1, "2x8", limit_s=HOUR)
    low = job(2, "1", tier=Tier.OPPORTUNISTIC, limit_s=limit_s)
    assert [start.job for start in plan(snapshot(spots, [gang, low], [held])).starts] == starts
