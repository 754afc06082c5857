"""Constraints of requests and nodes beyond size and level: each one alone, drawn."""

import pytest

from scheduler.core.board import Board
from scheduler.core.burden import Burden
from scheduler.core.layout import Layout
from scheduler.core.model import Request, Tier
from scheduler.core.policy import Policy
from tests.core.builders import Spot, board, drawn, free_slots, numbered, racks, request, run, seat, spot
from tests.core.test_place import names

NODES: dict[str, tuple[dict[str, object], dict[str, object], dict[str, object]]] = {
    "a named pool is a wall": ({"pool": "a"}, {"pool": "b"}, {"pool": "b"}),
    "a node needs every feature": (
        {"features": frozenset({"ib"})},
        {"features": frozenset({"ib", "nvme"})},
        {"features": frozenset({"nvme", "ib"})},
    ),
    "a GPU has the memory": ({"gpu_memory_gib": 40.0}, {"gpu_memory_gib": 80.0}, {"gpu_memory_gib": 80.0}),
    "unknown memory satisfies every wish": (
        {"gpu_memory_gib": 40.0},
        {"gpu_memory_gib": None},
        {"gpu_memory_gib": 80.0},
    ),
    "CPUs for each GPU": ({"cpus": 15.0}, {"cpus": 16.0}, {"cpus_per_gpu": 4.0}),
    "memory for each GPU": ({"memory_gib": 0.3}, {"memory_gib": 0.4}, {"memory_gib_per_gpu": 0.1}),
    "scratch for each GPU": ({"scratch_gib": 39.9}, {"scratch_gib": None}, {"scratch_gib_per_gpu": 10.0}),
    "spot nodes only where allowed": ({"spot": True}, {"spot": False}, {"spot_share": 0.0}),
    "steady nodes before spot nodes": ({"spot": True}, {"spot": False}, {}),
    "lemons last": ({"lemon": 1}, {"lemon": 0}, {}),
    "the worse lemon later": ({"lemon": 2}, {"lemon": 1}, {}),
    "a lemon later than a spot node": ({"lemon": 1}, {"spot": True}, {}),
}


@pytest.mark.parametrize("case", NODES)
def test_of_two_nodes_the_first_is_passed_over(case: str) -> None:
    first, second, asked = NODES[case]
    spots = [spot("n1", "xxxx....", **first), spot("n2", **second)]
    assert names(spots, board(spots).place(request("4", **asked))) == ["n2:4"]


def test_without_a_wish_a_pool_is_no_wall() -> None:
    spots = [spot("n1", pool="a"), spot("n2", pool="b")]
    assert names(spots, board(spots).place(request("2x8"))) == ["n1:8", "n2:8"]


def test_lemons_and_spot_nodes_are_used_where_it_takes_them() -> None:
    spots = [spot("n1", lemon=4), spot("n2"), spot("n3", spot=True), spot("n4", lemon=1)]
    found = {gpus: names(spots, board(spots).place(Request(gpus))) for gpus in (8, 16, 24, 32)}
    assert found[8] == ["n2:8"]
    assert found[16] == ["n2:8", "n3:8"]
    assert found[24] == ["n2:8", "n3:8", "n4:8"]
    assert found[32] == ["n1:8", "n2:8", "n3:8", "n4:8"]


SPOT: dict[str, tuple[str, float, list[str] | None]] = {
    "as much as the share allows": ("16", 0.5, ["r1-1:8", "r1-2:8"]),
    "not a GPU more": ("16", 0.49, None),
    "steady nodes as far as they go": ("12", 0.5, ["r1-1:8", "r1-2:4"]),
    "the share of an exact shape counts whole nodes": ("2x4", 0.5, ["r1-1:4", "r1-2:4"]),
    "a small job of which no part may be on a spot node": ("1", 0.5, ["r1-1:1"]),
}


@pytest.mark.parametrize("case", SPOT)
def test_a_share_of_the_gang_may_sit_on_spot_nodes(case: str) -> None:
    shape, share, want = SPOT[case]
    spots = [spot("r1-1"), spot("r1-2", spot=True), spot("r1-3", spot=True, gpu_type="A100")]
    found = board(spots).place(request(shape, spot_share=share))
    assert (found and names(spots, found)) == want


def test_a_third_of_three_is_one() -> None:
    spots = [spot("n1", "xxxxxx.."), spot("n2", spot=True)]
    assert names(spots, board(spots).place(request("3", spot_share=1 / 3))) == ["n1:2", "n2:1"]
    assert board(spots).place(request("3", spot_share=0.33)) is None


def test_what_runs_takes_its_cpus_with_it_and_brings_them_back() -> None:
    spots = [spot("n1", "aa......", cpus=16.0), spot("n2", "........", cpus=3.9)]
    layout, asked = Layout(numbered(spots)), request("4", cpus_per_gpu=2.0)
    held = run(7, drawn(spots, "a"), request=Request(2, cpus_per_gpu=5.0), preemptible=False)
    paper = Board(layout, free_slots(spots), Burden.of(layout, [held]))
    assert names(spots, paper.place(asked, gpus=3)) == ["n1:3"]
    assert names(spots, paper.place(asked)) == ["n1:3", "n2:1"]  # 6 CPUs are left on n1, 3.9 on n2
    paper.give(held.seats, held.request, firm=True)
    assert names(spots, paper.place(asked)) == ["n1:4"]
    paper.take(held.seats, held.request, firm=True)
    assert names(spots, paper.place(asked)) == ["n1:3", "n2:1"]


def test_groups_stay_whole_where_cpus_run_out() -> None:
    spots, asked = [spot("n1", cpus=5.0), spot("n2", cpus=3.0)], request("4", tp=2, cpus_per_gpu=1.0)
    paper = board(spots)
    assert names(spots, paper.place(asked)) == ["n1:4"]
    paper.take([seat(1, "0")], request("1x1", cpus_per_gpu=2.0))
    assert names(spots, paper.place(asked)) == ["n1:2", "n2:2"]


POOLS = Policy(production_pools=("gold",), sharing_pools=("shared",))


def test_a_production_pool_serves_production_alone_and_production_goes_there_first() -> None:
    spots = [spot("n1", "xxxx...."), spot("n2", pool="gold")]
    paper = board(spots)
    assert names(spots, paper.place(request("4"), tier=Tier.PRODUCTION, policy=POOLS)) == ["n2:4"]
    assert names(spots, paper.place(request("4"), policy=POOLS)) == ["n1:4"]
    assert paper.place(request("8"), policy=POOLS) is None
    assert not paper.holds(request("1", pool="gold"), policy=POOLS)
    assert names(spots, paper.place(request("12"), tier=Tier.PRODUCTION, policy=POOLS)) == ["n1:4", "n2:8"]


def test_slices_are_for_those_who_name_them_in_pools_that_share_and_never_for_production() -> None:
    spots = [
        spot("n1", gpu_type="A100-2g", sliced=True, pool="shared"),
        spot("n2", gpu_type="B100-2g", sliced=True),
    ]
    paper = board(spots)
    assert names(spots, paper.place(request("2", "A100-2g"), policy=POOLS)) == ["n1:2"]
    assert paper.place(request("2", "A100-2g"), policy=POOLS, tier=Tier.PRODUCTION) is None
    assert paper.place(request("2", "A100-2g")) is None
    assert paper.place(request("2", "B100-2g"), policy=POOLS) is None
    assert paper.place(request("2", ""), policy=POOLS) is None
    assert paper.layout.kinds(request("2", "")) == ()
    assert paper.layout.kinds(request("2", "B100-2g|H100|A100-2g")) == ("B100-2g", "A100-2g")


SPREAD: dict[str, tuple[list[Spot], str, list[str]]] = {
    "a rack for each node": (
        racks(r1=["........"] * 2, r2=["........"], r3=["........"]),
        "3x8",
        ["r1-1:8", "r2-1:8", "r3-1:8"],
    ),
    "as many racks as there are, in turn": (
        racks(r1=["........"] * 3, r2=["........"] * 3),
        "4x8",
        ["r1-1:8", "r1-2:8", "r2-1:8", "r2-2:8"],
    ),
    "the most broken racks first": (
        racks(r1=["........"] * 3, r2=["........"], r3=["........"]),
        "2x8",
        ["r2-1:8", "r3-1:8"],
    ),
    "the rest has a rack of its own": (
        racks(r1=["........"] * 2, r2=["........", "xxxx...."], r3=["........"]),
        "20",
        ["r1-1:4", "r2-1:8", "r3-1:8"],
    ),
    "the rest never sits on a node twice": (
        racks(r1=["........"] * 2, r2=["xxxxxxxx"]),
        "12",
        ["r1-1:8", "r1-2:4"],
    ),
    "a small job is one node all the same": (racks(r1=["........"], r2=["xxxx...."]), "4", ["r2-1:4"]),
    "broken nodes where nothing else is left": (racks(r1=["xxxx...."] * 2), "8", ["r1-1:4", "r1-2:4"]),
}


@pytest.mark.parametrize("case", SPREAD)
def test_a_gang_that_wants_to_be_spread_has(case: str) -> None:
    spots, shape, want = SPREAD[case]
    assert names(spots, board(spots).place(request(shape, spread=True))) == want


def test_a_required_level_comes_before_the_wish_to_be_spread() -> None:
    spots = racks(r1=["........"] * 2, r2=["........"], r3=["........"])
    in_block = request("2x8", spread=True, level="block", required=True)
    assert names(spots, board(spots).place(in_block)) == ["r1-1:8", "r2-1:8"]
    in_rack = request("2x8", spread=True, level="rack", required=True)
    assert names(spots, board(spots).place(in_rack)) == ["r1-1:8", "r1-2:8"]


def test_small_jobs_that_may_not_be_stopped_join_each_other() -> None:
    spots = [spot("n1", "xxxxxx.."), spot("n2", "aaaa...."), spot("n3", "bbb.....")]
    layout = Layout(numbered(spots))
    firm = run(7, drawn(spots, "a"), preemptible=False), run(8, drawn(spots, "b"))
    paper = Board(layout, free_slots(spots), Burden.of(layout, firm))
    assert names(spots, paper.place(request("1"))) == ["n1:1"]
    assert names(spots, paper.place(request("1"), firm=True)) == ["n2:1"]
    assert names(spots, paper.place(request("5"), firm=True)) == ["n3:5"]
    paper.take(drawn([spot("n1", "......a.")], "a"), firm=True)
    assert names(spots, paper.place(request("1"), firm=True)) == ["n1:1"]


def test_seats_on_nodes_that_are_gone_and_slots_that_are_so_already_change_nothing() -> None:
    spots = [spot("n1", "aa......", cpus=8.0), spot("n2", why_not="drained")]
    layout, asked = Layout(numbered(spots)), Request(2, cpus_per_gpu=1.0)
    gone = run(7, [seat(99, "01"), *drawn(spots, "a")], request=asked)
    paper = Board(layout, free_slots(spots), Burden.of(layout, [gone]))
    for _ in range(2):
        paper.give([seat(99, "01"), seat(2, "01")], asked)
        paper.take([seat(99, "01"), seat(1, "01")], asked)
    assert names(spots, paper.place(request("6", cpus_per_gpu=1.0))) == ["n1:6"]
    assert paper.place(request("7")) is None
    for _ in range(2):
        paper.give(gone.seats, asked)
    assert paper.burden.used.sum() == 0
    assert names(spots, paper.place(request("8", cpus_per_gpu=1.0))) == ["n1:8"]
