"""Whatever the world looks like: a place is found exactly where one exists, and it keeps every rule."""

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given

from scheduler.core.board import Board, Placement
from scheduler.core.burden import Burden
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Node, Request, Seat, Snapshot, Tier
from tests.core.brute import Ask, exists, faults, fewest, level_of, path, sizes
from tests.core.builders import board as drawn_board
from tests.core.builders import spot
from tests.core.worlds import quick, seeds, worlds

LEVELS = ("node", "rack", "block", "cluster")


def start(snap: Snapshot) -> Board:
    layout = Layout(snap.nodes)
    return Board(layout, snap.free, Burden.of(layout, snap.running))


def find(board: Board, snap: Snapshot, ask: Ask, firm: bool = False) -> Placement | None:
    asked = {"tier": ask.tier, "policy": snap.policy, "gpus": ask.gpus or None, "relaxed": ask.relaxed}
    found = board.place(ask.request, firm=firm, **asked)  # type: ignore[arg-type]
    assert board.holds(ask.request, **asked) == (found is not None)  # type: ignore[arg-type]
    return found


def asks(dice: Random, job: Job) -> Ask:
    """Some ask for less than all, and some insist on their wishes."""
    less = dice.randint(1, job.request.gpus) if dice.random() < 0.3 else 0
    return Ask(job.request, job.tier, less, relaxed=dice.random() < 0.7)


@quick
@given(worlds(9, 12), seeds)
def test_a_place_is_found_exactly_where_one_exists_and_keeps_every_rule(snap: Snapshot, seed: int) -> None:
    dice, board = Random(seed), start(snap)
    for job in snap.waiting:
        ask = asks(dice, job)
        found = find(board, snap, ask, firm=dice.random() < 0.2)
        assert (found is not None) == exists(snap, ask), ask
        if found is not None:
            assert faults(snap, ask, found.kind, found.seats) == []


def walk(board: Board, snap: Snapshot, dice: Random, steps: int) -> list[Board]:
    """Start and end jobs at random, and go on now and then with a copy; all boards that came of it."""
    boards, held = [board], [(run.seats, run.request, not run.preemptible) for run in snap.running]
    for _ in range(steps):
        if dice.random() < 0.2:
            board = board.copy()
            boards.append(board)
        if held and dice.random() < 0.4:
            seats, request, firm = held.pop(dice.randrange(len(held)))
            board.give(seats, request, firm=firm)
        elif snap.waiting:
            job = dice.choice(snap.waiting)
            found = board.place(job.request, tier=job.tier, policy=snap.policy, firm=not job.preemptible)
            if found is not None:
                board.take(found.seats, job.request, firm=not job.preemptible)
                held.append((found.seats, job.request, not job.preemptible))
    return boards


@quick
@given(worlds(9, 6), seeds)
def test_a_board_that_was_used_answers_like_one_made_anew(snap: Snapshot, seed: int) -> None:
    dice = Random(seed)
    for board in walk(start(snap), snap, dice, 25):
        anew = Board(board.layout, board.free, board.burden)
        for job in snap.waiting:
            for ground in board.query(job.request, tier=job.tier, policy=snap.policy).grounds:
                used, fresh = board.tally(ground), anew.tally(ground)
                assert used.exactly == fresh.exactly
                assert all(map(np.array_equal, used.free + used.fits, fresh.free + fresh.fits))
            for firm in (False, True):
                asked = {"tier": job.tier, "policy": snap.policy, "firm": firm}
                assert board.place(job.request, **asked) == anew.place(job.request, **asked)  # type: ignore[arg-type]


@quick
@given(worlds(9, 6), seeds)
def test_what_is_taken_and_given_back_leaves_no_trace(snap: Snapshot, seed: int) -> None:
    dice, board = Random(seed), start(snap)
    before, burden = board.free.copy(), board.burden.used.copy()
    held = []
    for job in snap.waiting:
        found = board.place(job.request, tier=job.tier, policy=snap.policy)
        if found is not None:
            board.take(found.seats, job.request)
            held.append((found.seats, job.request))
    given_out = [(seat.node, slot) for seats, _ in held for seat in seats for slot in seat.slots]
    assert len(given_out) == len(set(given_out))
    for seats, request in dice.sample(held, len(held)):
        board.give(seats, request)
    assert (board.free == before).all()
    assert (board.burden.used == burden).all()


@quick
@given(worlds(), seeds)
def test_neither_the_order_of_rows_nor_the_names_of_nodes_in_the_same_order_decide(
    snap: Snapshot, seed: int
) -> None:
    rows = list(range(len(snap.nodes)))
    Random(seed).shuffle(rows)
    ids = {node.id: 1000 + node.id for node in snap.nodes}
    nodes = tuple(replace(snap.nodes[row], id=ids[snap.nodes[row].id]) for row in rows)
    nodes = tuple(replace(node, name=f"host-{node.name}") for node in nodes)
    running = tuple(
        replace(run, seats=tuple(Seat(ids[seat.node], seat.slots) for seat in run.seats))
        for run in snap.running
    )
    other = replace(snap, nodes=nodes, free=snap.free[rows], running=running)
    ours, theirs = start(snap), start(other)
    for job in snap.waiting:
        here = find(ours, snap, Ask(job.request, job.tier))
        there = find(theirs, other, Ask(job.request, job.tier))
        renamed = here and here._replace(seats=tuple(Seat(ids[s.node], s.slots) for s in here.seats))
        assert renamed == there


@quick
@given(seeds)
def test_the_next_small_job_goes_where_a_fresh_look_at_the_whole_tree_would_send_it(seed: int) -> None:
    """The board remembers which rack was the fullest; here it is asked again and again while all changes."""
    dice = Random(seed)
    spots = [
        spot(f"n{n}", "".join(dice.choice("..x") for _ in range(4)), rack=f"r{n // 3}", block=f"b{n // 6}")
        for n in range(18)
    ]
    paper, held = drawn_board(spots), []
    for _ in range(30):
        asked = Request(dice.choice((1, 1, 2, 3)))
        if held and dice.random() < 0.15:
            paper.give(held.pop(dice.randrange(len(held))))
        found = paper.place(asked)
        assert found == Board(paper.layout, paper.free).place(asked)
        if found is not None and dice.random() < 0.9:
            paper.take(found.seats)
            held.append(found.seats)


def rooms(snap: Snapshot, ask: Ask) -> dict[int, int]:
    """By node id, the GPUs it can give; only nodes that can give any."""
    able = {node.id: max(sizes(snap, ask, row)) for row, node in enumerate(snap.nodes)}
    return {node: room for node, room in able.items() if room}


@quick
@given(worlds(9, 12))
def test_a_small_job_never_opens_a_clean_node_while_a_broken_one_of_the_same_rank_fits(
    snap: Snapshot,
) -> None:
    board, nodes = start(snap), {node.id: node for node in snap.nodes}
    for job in snap.waiting:
        ask = Ask(job.request, job.tier)
        found = find(board, snap, ask)
        if found is None or len(found.seats) > 1 or job.request.spread:
            continue
        rank = order(snap, ask, nodes[found.seats[0].node])
        able = {
            node: room
            for node, room in rooms(snap, ask).items()
            if room >= ask.size and nodes[node].gpu_type == found.kind
        }
        if job.request.spot_share == 1:
            assert rank == min(order(snap, ask, nodes[node]) for node in able)
            equals = [room for node, room in able.items() if order(snap, ask, nodes[node]) == rank]
            assert able[found.seats[0].node] == min(equals)


def order(snap: Snapshot, ask: Ask, node: Node) -> tuple[int, bool, bool]:
    """Which nodes come first: sound ones, steady ones, those of a pool that is kept for production."""
    own = ask.tier is Tier.PRODUCTION and node.pool in snap.policy.production_pools
    foreign = ask.tier is Tier.PRODUCTION and bool(snap.policy.production_pools) and not own
    return min(node.lemon, 3), node.spot, foreign


@quick
@given(worlds(9, 12))
def test_a_gang_takes_the_smallest_domain_that_holds_an_exact_shape_and_few_nodes_for_a_free_one(
    snap: Snapshot,
) -> None:
    """Where no node comes before another by rank, and nobody wants to be spread."""
    board, nodes = start(snap), {node.id: node for node in snap.nodes}
    for job in snap.waiting:
        ask = Ask(job.request, job.tier)
        found = find(board, snap, ask)
        if found is None or job.request.spread or len({order(snap, ask, node) for node in snap.nodes}) > 1:
            continue
        reached = level_of(nodes[seat.node] for seat in found.seats)
        assert found.level == reached
        inside = {level: fewest(snap, ask, found.kind, level) for level in LEVELS}
        smallest = next(level for level in LEVELS if inside[level] is not None)
        if job.request.nodes:
            assert reached == smallest
        else:
            assert len(found.seats) <= inside[smallest]


@quick
@given(worlds(9, 12))
def test_a_gang_that_wants_to_be_spread_sits_on_as_many_racks_as_any_choice_of_nodes(snap: Snapshot) -> None:
    board, nodes = start(snap), {node.id: node for node in snap.nodes}
    for job in snap.waiting:
        ask = Ask(replace(job.request, spread=True), job.tier)
        found = find(board, snap, ask)
        if found is None or not job.request.nodes or len({order(snap, ask, node) for node in snap.nodes}) > 1:
            continue
        able = [nodes[node] for node, room in rooms(snap, ask).items() if room >= job.request.per_node]
        able = [node for node in able if node.gpu_type == found.kind]
        sets = [
            some
            for some in combinations(able, job.request.nodes)
            if len({path(n, ask.level) for n in some}) == 1
        ]
        racks = {path(nodes[seat.node], "rack") for seat in found.seats}
        assert len(racks) == max(len({path(node, "rack") for node in some}) for some in sets)
