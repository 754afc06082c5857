"""What a round costs, counted in domains and nodes looked at, not timed."""

from random import Random

import numpy as np
from hypothesis import given

from scheduler.core.board import Board
from scheduler.core.model import Snapshot
from scheduler.core.planner import plan
from scheduler.core.tree import trees
from tests.core.builders import job, snapshot, spot
from tests.core.worlds import World, quick, unlimited, worlds

RACK, BLOCK = 16, 128  # nodes in one


def cluster(nodes: int, jobs: int, shapes: tuple[str, ...], busy: float = 0.5) -> Snapshot:
    """Racks of 16 nodes, blocks of 8 racks; a part of the nodes has its GPUs taken."""
    dice = Random(nodes)
    spots = [
        spot(
            f"n{number:05}",
            "x" * 8 if dice.random() < busy else "." * 8,
            rack=f"r{number // RACK:04}",
            block=f"b{number // BLOCK:04}",
        )
        for number in range(nodes)
    ]
    return snapshot(spots, [job(number, shapes[number % len(shapes)]) for number in range(1, jobs + 1)])


def test_a_job_that_does_not_fit_costs_the_same_on_any_cluster() -> None:
    """Four looks at the only cluster: its turn, whether it ever fits, its start, and no more."""
    for nodes in (128, 1024):
        made = plan(cluster(nodes, 500, ("2x8",), busy=1.0))
        assert len(made.verdicts) == 500
        assert made.steps <= 4 * 500


def test_a_small_job_looks_down_one_path_of_the_tree() -> None:
    """The blocks, the racks of one block, the nodes of one rack; not every node."""
    for nodes in (256, 2048):
        made = plan(cluster(nodes, 200, ("1x1", "1x2", "1x4")))
        assert len(made.starts) == 200
        assert made.steps <= 200 * (4 + nodes // BLOCK + BLOCK // RACK + RACK)


def test_a_gang_looks_at_each_rack_once_and_at_the_nodes_of_few() -> None:
    made = plan(cluster(2048, 20, ("4x8",)))
    assert len(made.starts) == 20
    assert made.steps <= 20 * (2 + 2048 // RACK + 2048 // BLOCK + RACK)


def test_ten_times_the_waiting_jobs_cost_ten_times_the_steps() -> None:
    few, many = (plan(cluster(512, jobs, ("1x8", "2x8", "8x8"))) for jobs in (300, 3000))
    assert many.steps <= 10 * few.steps


@quick
@given(worlds())
def test_counts_that_are_kept_along_equal_counts_made_anew(world: World) -> None:
    snap = unlimited(world.snap)
    layout = trees(snap.nodes)
    usable = np.array([node.usable for node in snap.nodes], dtype=bool)
    board = Board(layout, snap.free & usable[:, None])
    kind_of = {node.id: node.gpu_type for node in snap.nodes}
    for start in plan(snap).starts:
        board.take(kind_of[start.seats[0].node], start.seats)
    anew = Board(layout, board.slots)
    for kind, tally in board.tallies.items():
        assert (tally.node_free == anew.tallies[kind].node_free).all()
        for depth in range(len(tally.free)):
            assert (tally.free[depth] == anew.tallies[kind].free[depth]).all()
            assert (tally.fits[depth] == anew.tallies[kind].fits[depth]).all()
