"""Where gangs sit: best fit on the tree, ties to the lowest position."""

from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given

from scheduler.core.model import Job, Node, Start
from scheduler.core.planner import plan
from tests.core.builders import Spot, job, snapshot, spot
from tests.core.worlds import World, only, quick, unlimited, worlds

RACKS = {"r1": "b1", "r2": "b1", "r3": "b2", "r4": "b2"}


def racks(**nodes: list[str]) -> list[Spot]:
    """Nodes by rack; r1 and r2 stand in block b1, r3 and r4 in b2."""
    return [
        spot(f"{rack}-{number}", slots, rack=rack, block=RACKS[rack])
        for rack, found in nodes.items()
        for number, slots in enumerate(found, start=1)
    ]


def names(spots: list[Spot], start: Start) -> list[str]:
    return [spots[seat.node - 1].node.name for seat in start.seats]


CASES: dict[str, tuple[list[Spot], str, list[str]]] = {
    "a small job goes to the fullest node that still fits": (
        racks(r1=["........", "xxxx....", "xxxxxx.."]),
        "1x2",
        ["r1-3"],
    ),
    "a full node that is too small is passed over": (racks(r1=["xxxxxx..", "xxxx...."]), "1x3", ["r1-2"]),
    "of equal nodes the one in the more broken rack": (
        racks(r1=["........", "........"], r2=["xxxxxxxx", "........"]),
        "1x1",
        ["r2-2"],
    ),
    "the block counts before the rack": (
        racks(r1=["........"], r2=["........"], r3=["........", "xxxxxxx."]),
        "1x8",
        ["r3-1"],
    ),
    "of equal racks the first by name": (racks(r2=["........"], r1=["........"]), "1x4", ["r1-1"]),
    "a gang takes one rack when one holds it": (
        racks(r1=["........"], r2=["........", "........"]),
        "2x8",
        ["r2-1", "r2-2"],
    ),
    "a gang takes the tightest rack": (
        racks(r1=["........"] * 3, r2=["........"] * 2),
        "2x8",
        ["r2-1", "r2-2"],
    ),
    "a gang that no rack holds stays in one block": (
        racks(r1=["........"], r2=["xxxxxxxx"], r3=["........"], r4=["........"]),
        "2x8",
        ["r3-1", "r4-1"],
    ),
    "a gang that no block holds takes the largest part whole, then the tightest rest": (
        racks(r1=["........"] * 2, r2=["........"], r3=["........"] * 2, r4=["xxxxxxxx", "xxxxxxxx"]),
        "4x8",
        ["r1-1", "r1-2", "r2-1", "r3-1"],
    ),
    "a gang of small parts fills broken nodes first": (
        racks(r1=["........", "xxxx....", "xxxx...."]),
        "2x4",
        ["r1-2", "r1-3"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_nodes_are_the_best_fit(case: str) -> None:
    spots, shape, want = CASES[case]
    (start,) = plan(snapshot(spots, [job(1, shape)])).starts
    assert names(spots, start) == want


SLOTS: dict[str, tuple[str, str, str, tuple[int, ...]]] = {
    "the lowest free slots of the only domain": ("x.x.....", "00000000", "1x2", (1, 3)),
    "the tightest domain that holds it": ("xx......", "00001111", "1x2", (2, 3)),
    "a domain that holds it before a fuller one that does not": ("xxx.....", "00001111", "1x2", (4, 5)),
    "across domains, the largest whole and the tightest rest": (
        "xx.x....",
        "00011111",
        "1x5",
        (2, 4, 5, 6, 7),
    ),
    "across domains, never a third where two do": ("........", "01122222", "1x7", (1, 2, 3, 4, 5, 6, 7)),
    "three domains, only as many as it takes": (".x.....x", "00111122", "1x5", (0, 2, 3, 4, 5)),
}


@pytest.mark.parametrize("case", SLOTS)
def test_inside_a_node_the_seat_is(case: str) -> None:
    slots, links, shape, want = SLOTS[case]
    (start,) = plan(snapshot([spot("n1", slots, links=links)], [job(1, shape)])).starts
    assert start.seats[0].slots == want


def test_a_gang_never_spans_clusters() -> None:
    spots = [spot("n1", cluster="north"), spot("s1", cluster="south")]
    assert plan(snapshot(spots, [job(1, "2x8")])).starts == ()


def test_a_gang_never_mixes_gpu_types() -> None:
    spots = [spot("n1", gpu_type="A100"), spot("n2", gpu_type="H100")]
    assert plan(snapshot(spots, [job(1, "2x8", "")])).starts == ()


def test_a_job_for_any_type_takes_the_first_by_name_that_fits() -> None:
    spots = [
        spot("n1", gpu_type="H100"),
        spot("n2", "xxxxxxxx", gpu_type="A100"),
        spot("n3", gpu_type="B200"),
    ]
    (start,) = plan(snapshot(spots, [job(1, "1x8", "")])).starts
    assert names(spots, start) == ["n3"]


def test_ranks_follow_the_tree_so_that_neighbours_are_near() -> None:
    spots = racks(r2=["........"] * 2, r1=["........"] * 2)
    (start,) = plan(snapshot(spots, [job(1, "4x8")])).starts
    assert names(spots, start) == ["r1-1", "r1-2", "r2-1", "r2-2"]


def level_of(nodes: Iterable[Node]) -> int:
    """1 inside a rack, 2 inside a block, 3 inside a cluster."""
    nodes = list(nodes)
    paths = [(node.cluster, node.block, node.rack) for node in nodes]
    return next(level for level in (1, 2, 3) if len({path[: 4 - level] for path in paths}) == 1)


def room(world: World, job: Job, kind: str) -> list[Node]:
    pairs = zip(world.snap.nodes, world.snap.free.sum(axis=1), strict=True)
    return [n for n, free in pairs if n.usable and n.gpu_type == kind and free >= job.gpus_per_node]


@quick
@given(worlds())
def test_a_lone_gang_takes_the_smallest_domain_and_a_lone_small_job_the_fullest_node(world: World) -> None:
    free = {node.id: int(f) for node, f in zip(world.snap.nodes, world.snap.free.sum(axis=1), strict=True)}
    nodes = {node.id: node for node in world.snap.nodes}
    for asked in world.snap.waiting:
        for start in plan(only(unlimited(world.snap), asked)).starts:
            seats = [nodes[seat.node] for seat in start.seats]
            able = room(world, asked, seats[0].gpu_type)
            if asked.nodes == 1:
                assert free[seats[0].id] == min(free[node.id] for node in able)
            sets = [
                group for group in combinations(able, asked.nodes) if len({n.cluster for n in group}) == 1
            ]
            assert level_of(seats) == min(map(level_of, sets))


@quick
@given(worlds())
def test_inside_a_node_no_seat_uses_more_nvlink_domains_than_it_must(world: World) -> None:
    snap = unlimited(world.snap)
    rows = {node.id: row for row, node in enumerate(snap.nodes)}
    for asked in snap.waiting:
        for start in plan(only(snap, asked)).starts:
            for seat in start.seats:
                links, free = snap.nodes[rows[seat.node]].nvlink, snap.free[rows[seat.node]]
                sets = combinations([slot for slot in range(len(links)) if free[slot]], len(seat.slots))
                fewest = min(len({links[slot] for slot in slots}) for slots in sets)
                assert len({links[slot] for slot in seat.slots}) == fewest
