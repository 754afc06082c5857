"""Maintenance: whatever a plan puts on a node has ended before that closes, and what is on a closed node stays there."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduler.core.model import Claim, Job, Lost, Running, Seat, Snapshot, Tier, Window
from scheduler.core.planner import plan
from scheduler.core.verbs import Plan, Why
from tests.core.brute import closes
from tests.core.builders import HOUR, MINUTE, NOW, drawn, job, run, seat, snapshot, spot, tree
from tests.core.worlds import rough, rough_worlds

LOW, HIGH = Tier.OPPORTUNISTIC, Tier.PRODUCTION
often = settings(max_examples=200, deadline=None, database=None)
TWO = [spot("a", "rrrrrrrr"), spot("b", "ssssssss")]
SOON, ON = Window(NOW + HOUR, NOW + 9 * HOUR, frozenset({1})), Window(NOW - HOUR, NOW + HOUR, frozenset({1}))
OVER = Window(NOW - 9 * HOUR, NOW - HOUR, frozenset({1}))


def held(*tiers: Tier) -> list[Running]:
    return [run(8, drawn(TWO, "r"), tier=tiers[0]), run(9, drawn(TWO, "s"), tier=tiers[1])]


def asked(found: Plan) -> list[int]:
    return [stop.job for stop in found.stops]


def places(found: Plan) -> dict[int, list[int]]:
    return {claim.job: [seat.node for seat in claim.seats] for claim in found.claims}


@pytest.mark.parametrize(
    ("window", "goes"), [(SOON, 9), (ON, 9), (OVER, 8), (replace(SOON, begins=NOW + 13 * HOUR), 8)]
)
def test_nobody_goes_from_a_node_that_closes_before_the_next_would_end(window: Window, goes: int) -> None:
    owner = job(1, tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    found = plan(snapshot(TWO, [owner], held(LOW, Tier.STANDARD), windows=(window,)))
    assert asked(found) == [goes]


@pytest.mark.parametrize("window", [SOON, ON])
def test_where_every_node_closes_nobody_goes_at_all(window: Window) -> None:
    owner = job(1, tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    window = replace(window, nodes=frozenset({1, 2}))
    assert plan(snapshot(TWO, [owner], held(LOW, LOW), windows=(window,))).stops == ()


def test_a_free_node_that_closes_keeps_nobody_from_making_a_place_elsewhere() -> None:
    spots = [spot("a"), spot("b", "ssssssss")]
    owner = job(1, tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    found = plan(snapshot(spots, [owner], [run(9, drawn(spots, "s"), tier=LOW)], windows=(SOON,)))
    assert asked(found) == [9]


def test_a_gang_that_goes_opens_only_what_stays_open() -> None:
    spots = [spot("a", "rrrrrrrr"), spot("b", "rrrrrrrr"), spot("c", "ssssssss")]
    runs = [run(8, drawn(spots, "r"), tier=LOW), run(9, drawn(spots, "s"), tier=LOW)]
    owner = job(1, "2x8", tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    found = plan(snapshot(spots, [owner], runs, windows=(SOON,)))
    assert sorted(asked(found)) == [8, 9]
    assert places(found) == {1: [2, 3]}


def test_a_place_lasts_until_the_end_even_when_those_who_go_take_their_time() -> None:
    window = replace(SOON, begins=NOW + 12 * HOUR + MINUTE)
    owner = job(1, tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    first = plan(snapshot(TWO, [owner], held(LOW, Tier.STANDARD), windows=(window,)))
    assert asked(first) == [9]


@pytest.mark.parametrize(("early", "called"), [(SOON, []), (OVER, [8])])
def test_nobody_is_called_back_early_from_a_node_that_closes(early: Window, called: list[int]) -> None:
    spots = [spot("a", "rrrrrrrr")]
    young = run(8, drawn(spots, "r"), submitted_at=NOW - HOUR, started_at=NOW - HOUR + MINUTE)
    old = job(1, submitted_at=NOW - 2 * HOUR, forecast_s=600.0)
    assert asked(plan(snapshot(spots, [old], [young], windows=(early,)))) == called


LOSERS = [spot("n1", "aaaa"), spot("n2", "aaaa", why_not="lost"), spot("n3", "...."), spot("n4", "....")]


@pytest.mark.parametrize(
    ("closed", "ends_in_min", "into"),
    [((), None, [3]), ((3,), None, [4]), ((3,), 50, [3]), ((3,), 70, [4]), ((3, 4), None, [])],
)
def test_a_gang_gets_no_seat_on_a_node_that_closes_before_it_ends(closed, ends_in_min, into) -> None:
    gang = run(1, drawn(LOSERS, "a"), ends_in_min)
    window = replace(SOON, nodes=frozenset(closed))
    found = plan(snapshot(LOSERS, [], [gang], lost=(Lost(1, (seat(2, "0123"),)),), windows=(window,)))
    assert [swap.into.node for swap in found.swaps] == into
    assert list(found.restarts) == [1] * (not into)


APART = [spot("n1", "aa......"), spot("n2", "bb......"), spot("n3", "cccccc..", rack="r2")]


@pytest.mark.parametrize(
    ("closed", "lasts_h", "found"),
    [
        ((), None, {9: [1], 2: [3]}),
        ((1,), None, {9: [2], 3: [3]}),  # the gang has no place where it would be cut short
        ((1, 2), None, {}),
        ((3,), None, {9: [1], 2: [2]}),  # nor has who makes room for it
        ((3,), 3, {9: [1], 2: [2]}),  # a limit begins anew with each start
        ((3,), 1.5, {9: [1], 2: [3]}),
    ],
)
def test_who_moves_and_the_gang_that_it_moves_for_end_before_their_nodes_close(
    closed: tuple[int, ...], lasts_h: float | None, found: dict[int, list[int]]
) -> None:
    left = None if lasts_h is None else 60 * (lasts_h - 1)
    runs = [
        run(number, drawn(APART, letter), left, checkpoints=True) for number, letter in enumerate("abc", 2)
    ]
    window = Window(NOW + 2 * HOUR, NOW + 9 * HOUR, frozenset(closed))
    gang = job(9, "1x8", limit_s=1.9 * HOUR if 3 in closed else 3 * HOUR)
    made = plan(snapshot(APART, [gang], runs, windows=(window,)))
    assert places(made) == found
    assert {stop.why for stop in made.stops} <= {Why.MOVED}


# Three nodes; on the first two each has four GPUs of the other team's covered work and four of its own.
BETWEEN = [spot("n1", "aaaabbbb"), spot("n2", "ccccdddd"), spot("n3", "eeeeffff")]
EVEN = tree(("own", None, {"H100": 12}), ("other", None, {"H100": 12}))


@pytest.mark.parametrize(
    ("closed", "found"),
    [((), {50: [1], 2: [2]}), ((1,), {50: [2], 4: [3]}), ((2,), {50: [1], 2: [3]}), ((1, 2), {})],
)
def test_work_is_regrouped_on_open_nodes_only(closed: tuple[int, ...], found: dict[int, list[int]]) -> None:
    pairs = zip("abcdef", ("own", "other") * 3, strict=True)
    runs = [
        run(number, drawn(BETWEEN, letter), team=team, user=letter, checkpoints=True)
        for number, (letter, team) in enumerate(pairs, 1)
    ]
    owner = job(50, "1x8", team="own", tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    window = replace(SOON, nodes=frozenset(closed))
    made = places(plan(snapshot(BETWEEN, [owner], runs, EVEN, windows=(window,))))
    assert made == found


@pytest.mark.parametrize(("window", "keeps"), [(None, True), (OVER, True), (SOON, False), (ON, False)])
def test_a_place_is_forgotten_when_maintenance_is_announced_there(window: Window | None, keeps: bool) -> None:
    owner = job(1, tier=HIGH, preemptible=False, limit_s=12 * HOUR)
    going = replace(held(LOW, LOW)[0], stopping=True, asked_at=NOW - MINUTE)
    claim = Claim(1, drawn(TWO, "r"), (8,), NOW - MINUTE)
    windows = () if window is None else (window,)
    kept = plan(snapshot(TWO, [owner], [going], claims=(claim,), windows=windows))
    assert (claim in kept.claims) is keeps
    free = [spot("a"), spot("b", "ssssssss")]
    then = plan(snapshot(free, [owner], claims=(claim,), windows=windows))
    assert bool(then.starts) is keeps


@pytest.mark.parametrize(("ends_in_min", "keeps"), [(None, False), (10, False), (-10, True)])
def test_so_is_the_new_place_of_who_moves(ends_in_min: float | None, keeps: bool) -> None:
    spots = [spot("a"), spot("b", "ssssssss")]
    mover = run(9, drawn(spots, "s"), ends_in_min, stopping=True, asked_at=NOW - MINUTE)
    claim = Claim(9, (seat(1),), (9,), NOW - MINUTE)
    found = plan(snapshot(spots, [], [mover], claims=(claim,), windows=(SOON,)))
    assert found.claims == (claim,) * keeps


def lasts_s(one: Job | Running) -> float:
    """How long it may hold a place from its start."""
    if isinstance(one, Job):
        return float("inf") if one.limit_s is None else one.limit_s
    return float("inf") if one.ends_by is None else one.ends_by - one.started_at


def new_seats(snap: Snapshot, found: Plan) -> list[tuple[Seat, float]]:
    """Every seat that this plan gives to somebody, and when that one has ended."""
    holders: dict[int, Job | Running] = {one.job: one for one in snap.running}
    holders |= {one.id: one for one in snap.waiting}
    given = [(one.job, one.seats) for one in (*found.starts, *found.claims)]
    runs = {one.job: one for one in snap.running}
    swapped = [(swap.into, runs[swap.job]) for swap in found.swaps]
    ends = [(seat, run.expected_end if run.ends_by is None else run.ends_by) for seat, run in swapped]
    new = [(seat, snap.taken_at + lasts_s(holders[number])) for number, seats in given for seat in seats]
    return new + [(seat, float("inf") if end is None else end) for seat, end in ends]


@often
@given(rough_worlds())
def test_nothing_is_planned_on_a_node_that_closes_before_it_has_ended(snap: Snapshot) -> None:
    planned = new_seats(snap, plan(snap, evidence=False))
    assert [(seat, until) for seat, until in planned if closes(snap, seat.node, until)] == []


def test_in_those_worlds_much_is_planned_beside_nodes_that_close() -> None:
    claims = swaps = 0
    for seed in range(250):
        snap = rough(3 + seed % 6, 1 + seed % 9, seed)
        if snap.windows:
            found = plan(snap, evidence=False)
            claims, swaps = claims + len(found.claims), swaps + len(found.swaps)
    assert claims >= 12
    assert swaps >= 12
