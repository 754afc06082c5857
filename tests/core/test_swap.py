"""Gangs that lost nodes: only what is lost is replaced, near the rest, inside what the job asked for."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.board import Board
from scheduler.core.explain import sentence
from scheduler.core.layout import Layout
from scheduler.core.model import Claim, Lost, Node, Request, Running, Seat, Share, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason
from scheduler.core.swap import Mended, mend
from tests.core.builders import NOW, Spot, board, drawn, job, racks, run, seat, snapshot, spot, tree

quick = settings(max_examples=400, deadline=None, database=None)


def mended(spots: list[Spot], *lost: tuple[Running, list[int]]) -> Mended:
    """Each run lost all its seats on these nodes."""
    hurt = [Lost(one.job, tuple(seat for seat in one.seats if seat.node in nodes)) for one, nodes in lost]
    return mend(board(spots), hurt, {one.job: one for one, _ in lost}, Policy())


def into(found: Mended) -> list[tuple[int, int]]:
    """Which node goes out, which comes in."""
    return [(swap.out.node, swap.into.node) for swap in found.swaps]


def down(name: str, slots: str, **where: object) -> Spot:
    return spot(name, slots, why_not="lost", **where)


def test_only_the_lost_seat_is_replaced_with_one_of_its_size() -> None:
    spots = [spot("n1", "aaaaaaaa"), down("n2", "aaaa...."), spot("n3"), spot("n4", "####....")]
    found = mended(spots, (run(1, drawn(spots, "a")), [2]))
    assert found.restarts == ()
    assert [(swap.job, swap.out, swap.into) for swap in found.swaps] == [
        (1, seat(2, "0123"), seat(4, "4567"))
    ]


def test_several_lost_at_once_are_replaced_at_once_on_different_nodes() -> None:
    spots = [down("n1", "aaaaaaaa"), down("n2", "aaaaaaaa"), spot("n3", "aaaaaaaa"), spot("n4"), spot("n5")]
    assert into(mended(spots, (run(1, drawn(spots, "a")), [1, 2]))) == [(1, 4), (2, 5)]


def test_where_one_of_them_has_no_replacement_the_job_starts_again_and_takes_nothing() -> None:
    spots = [down("n1", "aaaaaaaa"), down("n2", "aaaaaaaa"), spot("n3", "aaaaaaaa"), spot("n4")]
    paper = board(spots)
    one = run(1, drawn(spots, "a"))
    assert mend(paper, [Lost(1, one.seats[:2])], {1: one}, Policy()) == Mended((), (1,))
    assert paper.free[3].all()


def test_a_node_of_the_gang_is_not_used_twice() -> None:
    spots = [down("n1", "aaaa"), spot("n2", "aaaa....")]
    assert mended(spots, (run(1, drawn(spots, "a")), [1])) == Mended((), (1,))


def test_who_lost_some_gpus_of_a_node_stays_on_it_where_it_can() -> None:
    spots = [spot("n1", "aaaa....", links="000-0000"), spot("n2")]
    one = run(1, [seat(1, "0123")])
    found = mend(board(spots), [Lost(1, (seat(1, "3"),))], {1: one}, Policy())
    assert [(swap.out, swap.into) for swap in found.swaps] == [(seat(1, "0123"), seat(1, "0124"))]
    tight = [spot("n1", "aaaa####", links="000-0000"), spot("n2", "..######"), spot("n3")]
    found = mend(board(tight), [Lost(1, (seat(1, "3"),))], {1: one}, Policy())
    assert [(swap.out, swap.into) for swap in found.swaps] == [(seat(1, "0123"), seat(3, "0123"))]


def test_what_still_works_of_a_lost_seat_is_free_for_the_next() -> None:
    spots = [spot("n1", "aaaa####", links="000-0000"), spot("n2")]
    paper = board(spots)
    mend(paper, [Lost(1, (seat(1, "3"),))], {1: run(1, [seat(1, "0123")])}, Policy())
    assert paper.free[0].tolist() == [True, True, True, *[False] * 5]
    assert paper.free[1].sum() == 4


RACKS = {"r1": ["aaaaaaaa", "########"], "r2": ["aaaaaaaa", "........"], "r3": ["........", "........"]}


def test_a_required_level_is_kept_with_the_seats_that_stay() -> None:
    spots = racks(**RACKS)
    one = run(1, drawn(spots, "a"), request=Request(16, nodes=2, level="block", required=True))
    assert into(mended(spots, (one, [1]))) == [(1, 4)]
    rack = replace(one, seats=(seat(2), seat(1)), request=Request(16, nodes=2, level="rack", required=True))
    assert mended(spots, (rack, [2])) == Mended((), (1,))


def test_a_preferred_level_and_no_level_go_near_first_and_far_where_they_must() -> None:
    spots = racks(**RACKS)
    for wish in (Request(16, level="rack"), Request(16)):
        assert into(mended(spots, (run(1, drawn(spots, "a"), request=wish), [3]))) == [(3, 4)]
    spots = racks(r1=["aaaaaaaa", "########"], r2=["aaaaaaaa", "########"], r3=["........", "........"])
    assert into(mended(spots, (run(1, drawn(spots, "a")), [3]))) == [(3, 5)]


def test_a_gang_that_lost_everything_moves_into_one_domain_of_its_level() -> None:
    spots = [
        *[down("a1", "aaaa", rack="r1"), down("a2", "aaaa", rack="r1"), spot("b1", "....", rack="r2")],
        *[spot("c1", "....", rack="r3"), spot("c2", "....", rack="r3")],
    ]
    one = run(1, drawn(spots, "a"), request=Request(8, nodes=2, level="rack", required=True))
    assert into(mended(spots, (one, [1, 2]))) == [(1, 4), (2, 5)]


def test_lemons_come_last_and_spot_nodes_only_as_far_as_the_job_takes_them() -> None:
    spots = [
        down("n1", "aaaa"),
        spot("n2", "aaaa"),
        spot("n3", "....", lemon=2),
        spot("n4", "....", spot=True),
    ]
    one = run(1, drawn(spots, "a"))
    assert into(mended(spots, (one, [1]))) == [(1, 4)]
    steady = replace(one, request=Request(8, spot_share=0.25))
    assert into(mended(spots, (steady, [1]))) == [(1, 3)]


def test_a_replacement_keeps_groups_whole_and_has_the_cpus() -> None:
    spots = [
        *[down("n1", "aaaa"), spot("n2", "....", links="0123"), spot("n3", "....", cpus=8.0)],
        *[spot("n4", "..##..", links="001111"), spot("n5", cpus=64.0, links="01230123")],
    ]
    one = run(1, [seat(1, "0123")], request=Request(4, tp=2, cpus_per_gpu=4.0))
    assert into(mended(spots, (one, [1]))) == [(1, 4)]
    assert mended(spots, (one, [1])).swaps[0].into.slots == (0, 1, 4, 5)


def test_a_node_that_is_gone_for_good_is_replaced_too() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2")]
    one = run(1, [seat(1), seat(99)])
    assert into(mended(spots, (one, [99]))) == [(99, 2)]
    assert into(mended(spots, (run(1, [seat(99)]), [99]))) == [(99, 2)]


def test_the_higher_tier_is_mended_first_then_who_came_first() -> None:
    spots = [down("n1", "aaaabbbb"), spot("n2", "....####")]
    late, early = run(1, drawn(spots, "a")), run(2, drawn(spots, "b"), submitted_at=NOW - 10**6)
    assert mended(spots, (late, [1]), (early, [1])).restarts == (1,)
    late = replace(late, tier=Tier.PRODUCTION)
    assert mended(spots, (late, [1]), (early, [1])).restarts == (2,)


@pytest.mark.parametrize("number", [1, 7])
def test_what_no_longer_runs_needs_no_mending(number: int) -> None:
    spots = [spot("n1")]
    assert mend(board(spots), [Lost(number, (seat(1),))], {}, Policy()) == Mended((), ())


def world(seed: int) -> tuple[Board, Running, Lost]:
    """A gang on some nodes of a small cluster, some of which are lost."""
    dice = Random(seed)
    nodes = [
        Node(
            *(
                number,
                f"n{number}",
                dice.choice("nnns"),
                "p",
                dice.choice(("b1", "b2")),
                dice.choice(("r1", "r2")),
            ),
            gpu_type="H100",
            nvlink=dice.choice(((0, 0, 0, 0), (0, 0, 1, 1))),
            lemon=dice.choice((0, 0, 1)),
        )
        for number in range(1, dice.randint(3, 9))
    ]
    tp = dice.choice((1, 1, 2))
    sizes = [dice.choice((2, 4)) for _ in range(dice.randint(1, min(4, len(nodes))))]
    home = dice.sample(nodes, len(sizes))
    seats = tuple(Seat(node.id, tuple(range(size))) for node, size in zip(home, sizes, strict=True))
    gone = tuple(seat for seat in seats if dice.random() < 0.6)
    lost = {seat.node for seat in gone}
    around = tuple(
        replace(node, usable=node.id not in lost, why_not="lost" * (node.id in lost)) for node in nodes
    )
    free = np.array([[dice.random() < 0.6 for _ in range(4)] for _ in nodes])
    for one in seats:
        free[one.node - 1, list(one.slots)] = False
    request = Request(
        sum(sizes), tp=tp, level=dice.choice(("", "rack", "block")), required=dice.random() < 0.5
    )
    return Board(Layout(around), free), run(1, seats, request=request), Lost(1, gone)


def fits(paper: Board, one: Running, seats: tuple[Seat, ...]) -> bool:
    """Whether a gang may sit like this: one seat on a node, groups whole, one domain, one cluster."""
    nodes = {node.id: node for node in paper.layout.nodes}
    groups = [Counter(nodes[seat.node].nvlink[slot] for slot in seat.slots) for seat in seats]
    level = one.request.level if one.request.required else ""
    paths = {"": 1, "block": 2, "rack": 3}
    domains = {(n.cluster, n.block, n.rack)[: paths[level]] for n in (nodes[seat.node] for seat in seats)}
    alone = len({seat.node for seat in seats}) == len(seats)
    return (
        alone
        and len(domains) == 1
        and all(c % one.request.tp == 0 for group in groups for c in group.values())
    )


@quick
@given(st.integers(0, 2**32 - 1))
def test_a_mended_gang_is_whole_and_sits_as_it_may(seed: int) -> None:
    paper, one, lost = world(seed)
    before = paper.free.copy()
    found = mend(paper, [lost], {1: one}, Policy())
    if found.restarts:
        assert (paper.free == before).all()
        return
    assert [swap.out for swap in found.swaps] == sorted(lost.seats, key=lambda seat: -len(seat.slots))
    changed = {swap.out: swap.into for swap in found.swaps}
    for swap in found.swaps:
        assert len(swap.into.slots) == len(swap.out.slots)
        assert before[swap.into.node - 1, list(swap.into.slots)].all()
        assert not paper.free[swap.into.node - 1, list(swap.into.slots)].any()
    stayed = [seat for seat in one.seats if seat not in lost.seats]
    if len({paper.layout.nodes[seat.node - 1].cluster for seat in stayed}) <= 1 and fits(
        paper, one, tuple(stayed)
    ):
        assert fits(paper, one, (*stayed, *changed.values()))


@quick
@given(st.integers(0, 2**32 - 1))
def test_a_job_starts_again_only_where_no_replacement_exists(seed: int) -> None:
    paper, one, lost = world(seed)
    stayed = tuple(seat for seat in one.seats if seat not in lost.seats)
    if stayed and not fits(paper, one, stayed):
        return
    rooms = {node.id: _room(paper, node.id, one.request.tp) for node in paper.layout.nodes}
    free = [node for node in rooms if all(seat.node != node for seat in stayed)]
    possible = any(
        all(rooms[node] >= len(seat.slots) for node, seat in zip(order, lost.seats, strict=True))
        and _together(paper, one, [*(seat.node for seat in stayed), *order])
        for order in permutations(free, len(lost.seats))
    )
    assert bool(mend(paper, [lost], {1: one}, Policy()).restarts) == (not possible)


def _room(paper: Board, node: int, tp: int) -> int:
    row = paper.layout.row[node]
    links = Counter(paper.layout.nodes[row].nvlink[slot] for slot in np.flatnonzero(paper.free[row]).tolist())
    return sum(count // tp * tp for count in links.values())


def _together(paper: Board, one: Running, nodes: list[int]) -> bool:
    found = [paper.layout.nodes[paper.layout.row[node]] for node in nodes]
    wide = {"": 1, "block": 2, "rack": 3}[one.request.level if one.request.required else ""]
    return len({(node.cluster, node.block, node.rack)[:wide] for node in found}) <= 1


def test_a_plan_swaps_before_it_does_anything_else_and_keeps_off_places_that_are_being_made() -> None:
    spots = [down("n1", "aaaa"), spot("n2", "aaaa"), spot("n3", "...."), spot("n4", "....")]
    one = run(1, drawn(spots, "a"))
    claim = Claim(7, (seat(3, "0123"),), (), NOW)
    known = {"lost": (Lost(1, one.seats[:1]),), "claims": (claim,), "teams": ()}
    made = plan(snapshot(spots, [job(7, "1x4"), job(8, "1x4")], [one], **known))
    assert [(swap.out.node, swap.into.node) for swap in made.swaps] == [(1, 4)]
    assert [(start.job, start.seats[0].node) for start in made.starts] == [(7, 3)]
    assert made.restarts == ()


def test_a_plan_names_the_gangs_that_must_start_again_and_stops_none_that_is_being_mended() -> None:
    spots = [down("n1", "aaaa"), spot("n2", "aaaa")]
    one = run(1, drawn(spots, "a"), tier=Tier.OPPORTUNISTIC)
    known = {"lost": (Lost(1, one.seats[:1]),), "teams": ()}
    made = plan(snapshot(spots, [job(7, "1x4", tier=Tier.PRODUCTION)], [one], **known))
    assert (made.swaps, made.restarts, made.stops) == ((), (1,), ())


# Spares: nodes that are kept for the next gang that loses one.

SPARE = Policy(spare_nodes=1)


def starts_of(spots: list[Spot], *jobs: object, policy: Policy = SPARE) -> list[tuple[int, int]]:
    seats = drawn(spots, "r")
    runs = [run(99, seats, gpu_type=spots[seats[0].node - 1].node.gpu_type)] if seats else []
    made = plan(snapshot(spots, jobs, runs, policy=policy))  # type: ignore[arg-type]
    return sorted((start.job, one.node) for start in made.starts for one in start.seats)


def test_a_spare_node_is_kept_from_those_who_could_wait() -> None:
    spots = [spot("n1"), spot("n2"), spot("n3")]
    fresh = [job(number, submitted_at=NOW - number) for number in (1, 2, 3)]
    assert starts_of(spots, *fresh) == [(2, 2), (3, 1)]
    assert starts_of(spots, *fresh, policy=Policy()) == [(1, 3), (2, 2), (3, 1)]


@pytest.mark.parametrize(
    "urgent",
    [{"tier": Tier.PRODUCTION}, {"submitted_at": NOW - SPARE.protect_after_s}],
    ids=["production", "whose age is due"],
)
def test_a_spare_node_is_not_kept_from(urgent: dict[str, object]) -> None:
    assert starts_of([spot("n1"), spot("n2", "rrrrrrrr")], job(1)) == []
    assert starts_of([spot("n1"), spot("n2", "rrrrrrrr")], job(1, **urgent)) == [(1, 1)]


def test_where_nothing_runs_and_nothing_else_fits_no_spare_is_kept() -> None:
    """There is no gang that could lose a node; without this a job for all nodes would wait until it is due."""
    assert starts_of([spot("n1"), spot("n2")], job(1, "2x8")) == [(1, 1), (1, 2)]
    assert starts_of([spot("n1"), spot("n2")], job(1, "2x8"), job(2)) == [(2, 1)]
    other = spot("n3", "rrrrrrrr", gpu_type="A100")
    assert starts_of([spot("n1"), spot("n2"), other], job(1, "2x8")) != []


def test_who_has_a_place_but_no_quota_keeps_no_spare_idle() -> None:
    teams = tree(("vision", None, {"H100": 16}), ("poor", None, {"H100": Share(0, borrow=0)}))
    asks = [job(1, "2x8"), job(2, team="poor")]
    made = plan(snapshot([spot("n1"), spot("n2")], asks, teams=teams, policy=SPARE))
    assert [start.job for start in made.starts] == [1]


def test_who_waits_because_of_a_spare_is_told_so() -> None:
    spots = [spot("n1"), spot("n2", "rrrrrrrr")]
    snap = snapshot(spots, [job(1)], [run(9, drawn(spots, "r"))], policy=SPARE)
    (verdict,) = plan(snap).verdicts
    assert (verdict.reason, verdict.numbers["free"], verdict.numbers["spare"]) == (Reason.FULL, 0, 8)
    told = sentence(verdict.reason, verdict.numbers)
    assert "it needs 8 H100, none is free (8 more are kept for gangs that lose a node)" in told


def test_only_sound_steady_whole_nodes_are_spares() -> None:
    spots = [spot("n1"), spot("n2", spot=True), spot("n3", lemon=1), spot("n4", "....####")]
    assert starts_of(spots, job(1, "1x4"), job(2, "8", spot_share=1.0)) == [(1, 4), (2, 2)]


def test_a_gang_that_loses_a_node_gets_the_spare() -> None:
    spots = [spot("n1", "aaaaaaaa"), down("n2", "aaaaaaaa"), spot("n3")]
    gang = run(1, drawn(spots, "a"))
    snap = snapshot(spots, [job(2)], [gang], policy=SPARE, lost=(Lost(1, (seat(2),)),))
    made = plan(snap)
    assert [(one.out.node, one.into.node) for one in made.swaps] == [(2, 3)]
    assert made.starts == ()
