"""Moves: a gang gets its place, everybody who moves has a new one, and it pays."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.defrag import MOST_WAIT_S, Floor, Tidied, consolidate, scattered
from scheduler.core.maystop import Rules
from scheduler.core.model import Claim, Job, Request, Running, Seat, Share, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.quota import Books
from scheduler.core.verbs import Why
from scheduler.core.victims import Exhausted
from scheduler.core.want import Want
from tests.core.builders import HOUR, NOW, Spot, board, drawn, job, request, run, snapshot, spot, tree

quick = settings(max_examples=300, deadline=None, database=None)
# Six GPUs are free, and no node has room for four.
HALVES = [spot("n1", "aa.."), spot("n2", "bb.."), spot("n3", "cc..")]


def tidied(
    spots: list[Spot], shape: str, *runs: Running, most: int = 8, wait_s: float = HOUR, **more: object
) -> Tidied | Exhausted | None:
    snap = snapshot(spots, running=runs, teams=(), **more)  # type: ignore[arg-type]
    rules = Rules(snap, Books((), {"H100": 99}, runs))
    want = Want(request(shape), policy=snap.policy)
    return consolidate(Floor.same(board(spots)), want, runs, rules, wait_s=wait_s, most=most)


def movers(spots: list[Spot], letters: str, **more: object) -> list[Running]:
    known: dict[str, object] = {"checkpoints": True}
    return [
        run(number, drawn(spots, letter), **(known | more)) for number, letter in enumerate(letters, start=1)
    ]


def test_a_run_goes_on_elsewhere_and_the_gang_has_its_place() -> None:
    found = tidied(HALVES, "1x4", *movers(HALVES, "abc"))
    assert isinstance(found, Tidied)
    (move,) = found.moves
    assert move.one.run.job == 1
    assert found.placement.seats == (Seat(1, (0, 1, 2, 3)),)
    assert move.into.seats == (Seat(2, (2, 3)),)
    assert found.cost == 2 * 60.0
    assert found.worth == 4 * HOUR


def test_nobody_moves_where_one_of_them_would_have_no_place() -> None:
    spots = [
        spot("n1", "aaa."),
        spot("n2", "bbb."),
        spot("n3", "cccc"),
        spot("n4", "##.."),
        spot("n5", "##.."),
    ]
    assert tidied(spots, "1x4", *movers(spots, "abc")) is None
    roomy = [*spots[:4], spot("n5", "#...")]
    found = tidied(roomy, "1x4", *movers(roomy, "abc"))
    assert isinstance(found, Tidied)
    assert [move.into.seats for move in found.moves] == [(Seat(5, (1, 2, 3)),)]


def test_a_cheaper_way_that_leaves_somebody_without_a_place_gives_way_to_the_next() -> None:
    spots = [spot("n1", "aaa."), spot("n2", "bb.."), spot("n3", "cc##"), spot("n4", "##..")]
    runs = movers(spots, "ab", restart_s=60.0)
    cheap = replace(runs[0], restart_s=1.0)
    found = tidied(spots, "1x4", cheap, runs[1])
    assert isinstance(found, Tidied)
    assert [move.one.run.job for move in found.moves] == [2]


def test_a_run_on_one_node_is_not_torn_apart() -> None:
    spots = [spot("n1", "aa.."), spot("n2", "###."), spot("n3", "###.")]
    assert tidied(spots, "1x4", *movers(spots, "a")) is None


KEEPS: dict[str, dict[str, object]] = {
    "it has not saved for long": {"checkpoints": False},
    "it is within its minimum runtime": {"started_at": NOW - 60},
    "it may not be stopped": {"preemptible": False},
    "it was stopped three times today": {"stops_today": 3},
    "it is going anyway": {"stopping": True},
    "it is of a higher tier": {"tier": Tier.PRODUCTION},
}


@pytest.mark.parametrize("why", KEEPS)
def test_a_run_stays_where_it_is_when(why: str) -> None:
    assert tidied(HALVES, "1x4", *movers(HALVES, "abc", **KEEPS[why])) is None


def test_a_run_that_has_just_saved_moves_too_and_what_it_loses_counts() -> None:
    found = tidied(HALVES, "1x4", *movers(HALVES, "abc", checkpoints=False, saved_at=NOW - 30))
    assert isinstance(found, Tidied)
    assert found.cost == 2 * 90.0


def test_it_must_pay_with_the_safety_of_the_policy() -> None:
    assert isinstance(tidied(HALVES, "1x4", *movers(HALVES, "abc"), wait_s=61.0), Tidied)
    assert tidied(HALVES, "1x4", *movers(HALVES, "abc"), wait_s=60.0) is None
    doubled = {"policy": Policy(move_safety=4.0)}
    assert tidied(HALVES, "1x4", *movers(HALVES, "abc"), wait_s=61.0, **doubled) is None


def test_a_place_is_worth_no_more_than_some_hours_of_waiting() -> None:
    found = tidied(HALVES, "1x4", *movers(HALVES, "abc"), wait_s=float("inf"))
    assert isinstance(found, Tidied)
    assert found.worth == 4 * MOST_WAIT_S


def test_no_more_moves_than_are_left() -> None:
    spots = [spot("n1", "ab.."), spot("n2", "cd.."), spot("n3", "..##"), spot("n4", "..##")]
    assert isinstance(tidied(spots, "1x4", *movers(spots, "abcd"), most=2), Tidied)
    assert isinstance(tidied(spots, "1x4", *movers(spots, "abcd"), most=1), Exhausted)
    assert tidied(spots, "1x4", *movers(spots, "abcd"), most=0) is None


def test_moves_help_only_where_enough_is_free_and_no_place_is() -> None:
    paper = board(HALVES)
    assert scattered(paper, Want(request("1x4")))
    assert not scattered(paper, Want(request("1x2")))
    assert not scattered(paper, Want(request("2x4")))


def world(seed: int) -> tuple[list[Spot], tuple[Running, ...], Want, Rules]:
    """Small runs all over a cluster, much of it free."""
    dice = Random(seed)
    spots, letters = [], iter("abcdefghijklmnopqrstuvwxyz")
    for number in range(dice.randint(2, 8)):
        slots = "".join(dice.choice((".", ".", "#", "+")) for _ in range(4))
        while "+" in slots:
            slots = slots.replace("+", next(letters), dice.randint(1, 3))
        spots.append(spot(f"n{number}", slots, rack=dice.choice(("r1", "r2"))))
    names = sorted({mark for one in spots for mark in one.slots} - {".", "#"})
    runs = tuple(
        run(
            ord(name), drawn(spots, name), checkpoints=dice.random() < 0.8, restart_s=dice.choice((30.0, 60.0)),
            started_at=NOW - dice.choice((60.0, HOUR)),
        )
        for name in names
    )  # fmt: skip
    want = Want(Request(*dice.choice(((4, 1), (8, 2), (6, 2), (12, 3))), gpu_types=("H100",)))
    return spots, runs, want, Rules(snapshot(spots, running=runs, teams=()), Books((), {"H100": 99}, runs))


@quick
@given(st.integers(0, 2**32 - 1))
def test_everybody_has_a_place_of_his_own_at_the_same_time(seed: int) -> None:
    spots, runs, want, rules = world(seed)
    paper = board(spots)
    before = paper.free.copy()
    found = consolidate(Floor.same(paper), want, runs, rules, wait_s=HOUR, most=4)
    assert (paper.free == before).all()
    if not isinstance(found, Tidied):
        return
    assert 0 < len(found.moves) <= 4
    assert found.worth > 2 * found.cost
    after = before.copy()
    for move in found.moves:
        assert move.one.run.checkpoints
        assert move.one.run.started_at <= NOW - HOUR
        for seat in move.one.run.seats:
            after[seat.node - 1, list(seat.slots)] = True
    for taken in (found.placement, *(move.into for move in found.moves)):
        for seat in taken.seats:
            assert after[seat.node - 1, list(seat.slots)].all()
            after[seat.node - 1, list(seat.slots)] = False
    moved = [(move.one.gpus, sum(len(seat.slots) for seat in move.into.seats)) for move in found.moves]
    assert all(had == has for had, has in moved)


def test_in_many_worlds_some_gang_is_helped() -> None:
    """The property above would also hold for a function that never moves anybody."""
    helped = 0
    for seed in range(300):
        spots, runs, want, rules = world(seed)
        found = consolidate(Floor.same(board(spots)), want, runs, rules, wait_s=HOUR, most=4)
        helped += isinstance(found, Tidied)
    assert helped > 15


def test_a_large_world_is_searched_in_steps_that_are_counted() -> None:
    spots = [spot(f"n{number:03}", "aa######" if number % 2 else "bb......") for number in range(400)]
    runs = tuple(
        run(number, [Seat(number + 1, (0, 1))], checkpoints=True, started_at=NOW - HOUR)
        for number in range(400)
    )
    paper = board(spots)
    rules = Rules(snapshot(spots, running=runs, teams=()), Books((), {"H100": 3200}, runs))
    found = consolidate(
        Floor.same(paper), Want(Request(64, nodes=8, gpu_types=("H100",))), runs, rules, wait_s=HOUR, most=8
    )
    assert isinstance(found, Tidied)
    assert len(found.moves) == 8
    assert np.count_nonzero(paper.free) == 200 * 6
    assert paper.steps < 20_000


# Moves in a plan: asked, kept a place for, gone, going on.


def gang(**more: object) -> Job:
    return job(50, "1x4", **more)


def test_a_plan_asks_small_runs_to_move_and_keeps_both_places() -> None:
    runs = movers(HALVES, "abc")
    made = plan(snapshot(HALVES, [gang()], runs, teams=()))
    (stop,) = made.stops
    assert (stop.why, stop.for_job, stop.receipt.lost_gpu_s) == (Why.MOVED, 50, 0.0)
    assert stop.receipt.rule["worth_gpu_s"] > 2 * stop.receipt.rule["all_cost_gpu_s"]  # type: ignore[operator]
    places = {claim.job: claim for claim in made.claims}
    assert set(places) == {50, stop.job}
    assert places[50].victims == (stop.job,)
    assert made.starts == ()
    assert [verdict.job for verdict in made.verdicts] == [50]


def test_while_it_saves_its_new_place_is_kept_and_then_both_start_at_once() -> None:
    runs = movers(HALVES, "abc")
    first = plan(snapshot(HALVES, [gang()], runs, teams=()))
    moving = first.stops[0].job
    late = job(60, "1x2", submitted_at=NOW)  # would like the kept place
    saving = [replace(one, stopping=one.job == moving, asked_at=NOW) for one in runs]
    second = plan(snapshot(HALVES, [gang(), late], saving, teams=(), claims=first.claims))
    assert sorted(second.claims, key=lambda one: one.job) == sorted(first.claims, key=lambda one: one.job)
    assert [start.job for start in second.starts] == [60]
    kept = {(seat.node, slot) for claim in first.claims for seat in claim.seats for slot in seat.slots}
    assert not kept & {(seat.node, slot) for seat in second.starts[0].seats for slot in seat.slots}
    gone = next(one for one in runs if one.job == moving)
    spots = [replace(one, slots=one.slots.replace("abc"[moving - 1], ".")) for one in HALVES]
    again = job(moving, "2", checkpoints=True, stops=1)
    stay = [one for one in runs if one.job != moving]
    third = plan(snapshot(spots, [gang(), late, again], stay, teams=(), claims=second.claims))
    started = {start.job: start.seats for start in third.starts}
    assert {50, moving} <= set(started)
    assert started[moving] != gone.seats


def test_nothing_moves_once_this_hours_moves_are_used_up() -> None:
    runs = movers(HALVES, "abc")
    assert plan(snapshot(HALVES, [gang()], runs, teams=(), moves_lately=8)).stops == ()
    assert plan(snapshot(HALVES, [gang()], runs, teams=(), policy=Policy(moves_per_hour=0))).stops == ()


def test_who_moves_goes_on_even_where_its_team_borrows_more_than_anybody_lends_by_now() -> None:
    teams = tree(("vision", None, {"H100": 0}), ("speech", None, {"H100": Share(12, lend=0)}))
    again = job(1, "2", team="vision", stops=1)
    claim = Claim(1, (Seat(2, (2, 3)),), (1,), NOW - 5)
    held = run(9, [Seat(3, (0, 1, 2, 3))], team="speech")
    made = plan(snapshot(HALVES, [again], [held], teams=teams, claims=(claim,)))
    assert [(start.job, start.seats) for start in made.starts] == [(1, (Seat(2, (2, 3)),))]
