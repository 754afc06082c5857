"""What a search costs, counted in domains and nodes looked at, not timed."""

from random import Random

import numpy as np

from scheduler.core.board import Board
from scheduler.core.layout import Layout
from scheduler.core.model import Request
from tests.core.builders import Spot, board, free_slots, numbered, request, spot

RACK, BLOCK = 16, 128  # nodes in one


def cluster(nodes: int, busy: float = 0.5) -> list[Spot]:
    """Racks of 16 nodes, blocks of 8 racks; a part of the nodes has its GPUs taken."""
    dice = Random(nodes)
    return [
        spot(
            f"n{number:05}",
            "x" * 8 if dice.random() < busy else "." * 8,
            rack=f"r{number // RACK:04}",
            block=f"b{number // BLOCK:04}",
        )
        for number in range(nodes)
    ]


def counted(paper: Board, *asked: Request) -> int:
    """The steps of placing these one after the other; the first look counts each rack once."""
    paper.holds(asked[0])
    before = paper.steps
    for one in asked:
        found = paper.place(one)
        assert found is not None
        paper.take(found.seats, one)
    return paper.steps - before


def test_a_request_that_found_no_room_is_not_looked_at_again_until_something_comes_back() -> None:
    for nodes in (128, 1024):
        paper = board(cluster(nodes, busy=1.0))
        assert paper.place(request("2x8")) is None
        before = paper.steps
        assert not any(paper.holds(request("2x8")) for _ in range(500))
        assert paper.place(request("2x8")) is None
        assert paper.steps == before


def test_whether_something_fits_costs_the_same_on_any_cluster() -> None:
    for nodes in (128, 1024):
        paper = board(cluster(nodes))
        paper.holds(Request(1))
        before = paper.steps
        assert all(paper.holds(Request(8 * gpus)) for gpus in range(1, 11))
        assert paper.steps - before <= 10


def test_a_small_job_looks_down_one_path_of_the_tree() -> None:
    """The blocks, the racks of one block, the nodes of one rack; not every node."""
    for nodes in (256, 2048):
        steps = counted(board(cluster(nodes)), *[Request(gpus) for gpus in (1, 2, 4)] * 67)
        assert steps <= 201 * (1 + nodes // BLOCK + BLOCK // RACK + RACK)


def test_many_small_jobs_of_one_kind_look_at_less_than_a_rack_each() -> None:
    """Where the last one went is where the next one goes, and the board remembers."""
    for nodes in (256, 2048):
        assert counted(board(cluster(nodes)), *[Request(1)] * 800) <= 800 * RACK


def test_a_gang_looks_at_each_rack_once_and_at_the_nodes_of_few() -> None:
    steps = counted(board(cluster(2048)), *[request("4x8")] * 20)
    assert steps <= 20 * (1 + 2048 // RACK + 2048 // BLOCK + RACK)


def test_a_gang_of_512_looks_at_few_times_the_racks() -> None:
    for nodes in (512, 4096):
        racks, wanted = nodes // RACK, 512 // 8 // RACK
        steps = counted(board(cluster(nodes)), Request(512))
        assert steps <= (4 + 4 * wanted) * racks + nodes


def test_a_copy_and_what_is_tried_on_it_cost_what_is_tried() -> None:
    paper = board(cluster(2048))
    paper.holds(Request(1))
    before = paper.steps
    for _ in range(50):
        paper.copy().holds(Request(16))
    assert paper.steps - before <= 50


def test_a_queue_in_which_no_two_requests_are_alike_fills_no_memory() -> None:
    spots = cluster(64, busy=0.0)
    layout = Layout(numbered(spots))
    paper = Board(layout, free_slots(spots))
    for number in range(1500):
        assert paper.holds(Request(1, cpus_per_gpu=0.5 + number / 1000))
    piles = [*vars(layout).values(), *vars(paper).values()]
    kept = [len(pile) for pile in piles if isinstance(pile, dict)]
    assert max(kept) <= 512 + 1
    assert np.count_nonzero(paper.free) == 64 * 8
