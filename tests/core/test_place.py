"""Where gangs sit: best fit on the tree, ties to the lowest position."""

import pytest

from scheduler.core.board import Board, Placement
from scheduler.core.layout import Layout
from scheduler.core.model import Request
from tests.core.builders import Spot, board, free_slots, numbered, racks, request, spot


def names(spots: list[Spot], found: Placement | None) -> list[str]:
    """Node and number of GPUs of each seat, in order."""
    assert found is not None
    return [f"{spots[seat.node - 1].node.name}:{len(seat.slots)}" for seat in found.seats]


CLEAN, FULL, HALF = "........", "xxxxxxxx", "xxxx...."
EXACT: dict[str, tuple[list[Spot], str, list[str]]] = {
    "a small job goes to the fullest node that still fits": (
        racks(r1=[CLEAN, HALF, "xxxxxx.."]),
        "1x2",
        ["r1-3:2"],
    ),
    "a full node that is too small is passed over": (racks(r1=["xxxxxx..", HALF]), "1x3", ["r1-2:3"]),
    "of equal nodes the one in the more broken rack": (
        racks(r1=[CLEAN, CLEAN], r2=[FULL, CLEAN]),
        "1x1",
        ["r2-2:1"],
    ),
    "the block counts before the rack": (
        racks(r1=[CLEAN], r2=[CLEAN], r3=[CLEAN, "xxxxxxx."]),
        "1x8",
        ["r3-1:8"],
    ),
    "of equal racks the first by name": (racks(r2=[CLEAN], r1=[CLEAN]), "1x4", ["r1-1:4"]),
    "a gang takes one rack when one holds it": (
        racks(r1=[CLEAN], r2=[CLEAN, CLEAN]),
        "2x8",
        ["r2-1:8", "r2-2:8"],
    ),
    "a gang takes the tightest rack": (
        racks(r1=[CLEAN] * 3, r2=[CLEAN] * 2),
        "2x8",
        ["r2-1:8", "r2-2:8"],
    ),
    "a gang that no rack holds stays in one block": (
        racks(r1=[CLEAN], r2=[FULL], r3=[CLEAN], r4=[CLEAN]),
        "2x8",
        ["r3-1:8", "r4-1:8"],
    ),
    "a gang that no block holds takes the largest part whole, then the tightest rest": (
        racks(r1=[CLEAN] * 2, r2=[CLEAN], r3=[CLEAN] * 2, r4=[FULL, FULL]),
        "4x8",
        ["r1-1:8", "r1-2:8", "r2-1:8", "r3-1:8"],
    ),
    "a gang of small parts fills broken nodes first": (
        racks(r1=[CLEAN, HALF, HALF]),
        "2x4",
        ["r1-2:4", "r1-3:4"],
    ),
}
FREE: dict[str, tuple[list[Spot], str, list[str]]] = {
    "up to a node's width it is one node, the fullest that fits": (
        racks(r1=[CLEAN, HALF, "xx......"]),
        "5",
        ["r1-3:5"],
    ),
    "above that whole nodes and the rest on the tightest node that holds it": (
        racks(r1=[CLEAN, CLEAN, CLEAN, "xxx.....", HALF, "xxxxxx.."]),
        "20",
        ["r1-1:8", "r1-2:8", "r1-5:4"],
    ),
    "the rest sits on a clean node when no broken one holds it": (
        racks(r1=[CLEAN, CLEAN, "xxxxxx.."]),
        "12",
        ["r1-1:8", "r1-2:4"],
    ),
    "the rest stays in a rack the gang has anyway": (
        [*racks(r1=[CLEAN] * 2, r2=[CLEAN, "xx......"]), spot("r9-1", HALF, rack="r9")],
        "28",
        ["r1-1:8", "r1-2:8", "r2-1:8", "r2-2:4"],
    ),
    "whole nodes in a wider domain before broken ones in a rack": (
        racks(r1=[HALF] * 4, r3=[CLEAN], r4=[CLEAN]),
        "16",
        ["r3-1:8", "r4-1:8"],
    ),
    "broken nodes where nothing else is left, as few as it takes": (
        racks(r1=[HALF, "xx......", "xxxxxxx.", "xxx....."]),
        "16",
        ["r1-1:4", "r1-2:6", "r1-3:1", "r1-4:5"],
    ),
    "broken nodes in the smallest domain that has enough": (
        racks(r1=["x.......", "xx......"], r3=[HALF] * 3),
        "12",
        ["r1-1:7", "r1-2:5"],
    ),
    "broken nodes in the rack where they are fewest": (
        racks(r1=[HALF] * 3, r2=["xx......", "xx......"]),
        "10",
        ["r2-1:6", "r2-2:4"],
    ),
    "a small job that no node holds is split over as few nodes as it takes": (
        racks(r1=["xxxxx...", HALF, "xxxxxx.."]),
        "5",
        ["r1-2:4", "r1-3:1"],
    ),
    "whole nodes of the usual width, though one node is wider": (
        [*racks(r1=["x......."] * 3, r3=[CLEAN], r4=[CLEAN]), spot("wide", "x" * 16, rack="r5")],
        "16",
        ["r3-1:8", "r4-1:8"],
    ),
    "never more small whole nodes than broken large ones": (
        [spot("a1", "x......."), spot("a2", "x......."), *(spot(f"b{n}", "..", rack="r2") for n in range(9))],
        "14",
        ["a1:7", "a2:7"],
    ),
}


@pytest.mark.parametrize("case", EXACT | FREE)
def test_the_nodes_are_the_best_fit(case: str) -> None:
    spots, shape, want = (EXACT | FREE)[case]
    assert names(spots, board(spots).place(request(shape))) == want


SLOTS: dict[str, tuple[str, str, tuple[int, int], tuple[int, ...]]] = {
    "the lowest free slots of the only domain": ("x.x.....", "00000000", (2, 1), (1, 3)),
    "the tightest domain that holds it": ("xx......", "00001111", (2, 1), (2, 3)),
    "a domain that holds it before a fuller one that does not": ("xxx.....", "00001111", (2, 1), (4, 5)),
    "across domains, the largest whole and the tightest rest": (
        "xx.x....",
        "00011111",
        (5, 1),
        (2, 4, 5, 6, 7),
    ),
    "across domains, never a third where two do": ("........", "01122222", (7, 1), (1, 2, 3, 4, 5, 6, 7)),
    "three domains, only as many as it takes": (".x.....x", "00111122", (5, 1), (0, 2, 3, 4, 5)),
    "whole groups, and a single slot stays alone": ("x.......", "00001111", (4, 2), (4, 5, 6, 7)),
    "whole groups of several domains": ("x...x...", "00001111", (4, 2), (1, 2, 5, 6)),
    "group after group where domains interleave": ("........", "01010101", (8, 4), (0, 2, 4, 6, 1, 3, 5, 7)),
    "no slot without a GPU": ("........", "0-0-0-00", (4, 1), (0, 2, 4, 6)),
}


@pytest.mark.parametrize("case", SLOTS)
def test_inside_a_node_the_seat_is(case: str) -> None:
    slots, links, (gpus, tp), want = SLOTS[case]
    found = board([spot("n1", slots, links=links)]).place(request(f"1x{gpus}", tp=tp))
    assert found is not None
    assert found.seats[0].slots == want


def test_groups_that_no_domain_holds_have_no_place_however_many_gpus_are_free() -> None:
    spots = [spot("n1", "x..x..x.", links="00011122")]
    assert board(spots).place(request("4", tp=4)) is None
    assert board(spots).place(request("4", tp=2)) is not None
    assert board(spots).place(request("6", tp=2)) is None


LEVELS = {
    ("16", "rack", True): None,
    ("16", "block", True): ["r1-1:8", "r2-1:8"],
    ("16", "node", True): None,
    ("8", "node", True): ["r3-1:8"],
    ("2x8", "rack", True): None,
    ("2x8", "rack", False): ["r1-1:8", "r2-1:8"],
    ("24", "block", True): None,
    ("24", "block", False): ["r1-1:8", "r2-1:8", "r3-1:8"],
    ("2x4", "node", True): None,
}


@pytest.mark.parametrize(("shape", "level", "required"), LEVELS)
def test_a_required_level_binds_and_a_preferred_one_binds_until_it_is_relaxed(
    shape: str, level: str, required: bool
) -> None:
    spots = racks(r1=[CLEAN], r2=[CLEAN], r3=[CLEAN])
    asked, want = request(shape, level=level, required=required), LEVELS[shape, level, required]
    found = board(spots).place(asked)
    assert (found and names(spots, found)) == want
    if not required:
        assert board(spots).place(asked, relaxed=False) is None


def test_the_level_reached_is_told() -> None:
    paper = board([*racks(r1=[CLEAN] * 2, r2=[CLEAN], r3=[CLEAN])])
    reached = {gpus: paper.place(Request(gpus)) for gpus in (8, 16, 24, 32)}
    assert [found and found.level for found in reached.values()] == ["node", "rack", "block", "cluster"]


def test_a_gang_never_spans_clusters() -> None:
    spots = [spot("n1", cluster="north"), spot("s1", cluster="south")]
    assert board(spots).place(request("2x8")) is None
    assert board(spots).place(request("9")) is None


def test_a_gang_never_mixes_gpu_types_and_takes_them_in_the_order_of_preference() -> None:
    spots = [spot("n1", gpu_type="A100"), spot("n2", gpu_type="H100"), spot("n3", gpu_type="B200")]
    paper = board(spots)
    assert paper.place(request("2x8", "")) is None
    assert names(spots, paper.place(request("1x8", "H100|A100"))) == ["n2:8"]
    assert names(spots, paper.place(request("1x8", "V100|B200|A100"))) == ["n3:8"]
    assert names(spots, paper.place(request("1x8", ""))) == ["n1:8"]
    assert paper.place(request("1x8", "V100")) is None


def test_a_job_for_any_type_takes_the_first_by_name_that_fits() -> None:
    spots = [spot("n1", gpu_type="H100"), spot("n2", FULL, gpu_type="A100"), spot("n3", gpu_type="B200")]
    assert names(spots, board(spots).place(request("1x8", ""))) == ["n3:8"]


def test_an_elastic_size_keeps_the_gpus_on_each_node() -> None:
    spots = racks(r1=[CLEAN, CLEAN])
    paper = board(spots)
    assert paper.place(request("4x8")) is None
    assert names(spots, paper.place(request("4x8"), gpus=16)) == ["r1-1:8", "r1-2:8"]
    assert paper.place(request("4x8"), gpus=12) is None
    assert names(spots, paper.place(request("32", tp=4), gpus=12)) == ["r1-1:8", "r1-2:4"]
    assert paper.place(request("32", tp=4), gpus=10) is None
    assert not paper.holds(request("32", tp=4), gpus=10)


def test_ranks_follow_the_tree_so_that_neighbours_are_near() -> None:
    spots = racks(r2=[CLEAN] * 2, r1=[CLEAN] * 2)
    assert names(spots, board(spots).place(request("4x8"))) == ["r1-1:8", "r1-2:8", "r2-1:8", "r2-2:8"]


def test_what_is_drained_or_has_no_gpu_is_not_used_unless_the_board_is_asked_what_if() -> None:
    spots = [spot("n1", why_not="drained"), spot("n2", why_not="pending"), spot("n3", ".", links="-")]
    layout, free = Layout(numbered(spots)), free_slots(spots)
    assert Board(layout, free).place(request("1")) is None
    assert names(spots, Board(layout, free, mended=True).place(request("8"))) == ["n1:8"]
    assert Board(layout, free, mended=True).place(request("9")) is None
    assert Board(layout, layout.exists, mended=True).place(request("1x8")) is not None
