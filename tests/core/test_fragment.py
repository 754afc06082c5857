"""How broken the free capacity is, in figures."""

from fractions import Fraction

import pytest
from hypothesis import given

from scheduler.core.fragment import Largest, fragmentation, largest_gangs
from scheduler.core.model import Request, Snapshot
from tests.core.brute import Ask, path, sizes
from tests.core.builders import Spot, board, racks, request, spot
from tests.core.test_place_rules import start
from tests.core.worlds import quick, worlds

CLEAN, HALF, FULL = "........", "xxxx....", "xxxxxxxx"


def test_the_largest_gang_is_told_for_each_level_and_type() -> None:
    spots = racks(r1=[CLEAN, HALF], r2=[HALF], r3=[HALF] * 4)
    spots.append(spot("a1", "x..", gpu_type="A100", links="01-"))
    assert largest_gangs(board(spots)) == {"A100": Largest(1, 1, 1, 1), "H100": Largest(8, 16, 16, 32)}


MIXES: dict[str, tuple[list[Spot], list[tuple[Request, float]], Fraction]] = {
    "nothing is wasted on one GPU": (racks(r1=[HALF, CLEAN]), [(Request(1), 1.0)], Fraction(0)),
    "a broken node is of no use for a whole one": (
        racks(r1=[HALF, CLEAN]),
        [(request("1x8"), 1.0)],
        Fraction(4, 12),
    ),
    "the mix weighs": (
        racks(r1=[HALF, CLEAN]),
        [(Request(1), 3.0), (request("1x8"), 1.0)],
        Fraction(1, 12),
    ),
    "a rack with five free nodes is all fragment for eight in one rack": (
        racks(r1=[CLEAN] * 5, r2=[CLEAN] * 8),
        [(request("8x8", level="rack", required=True), 1.0)],
        Fraction(5, 13),
    ),
    "a wish counts like a must": (
        racks(r1=[CLEAN] * 5, r2=[CLEAN] * 8),
        [(request("8x8", level="rack"), 1.0)],
        Fraction(5, 13),
    ),
    "in a wider domain they count together": (
        racks(r1=[CLEAN] * 5, r2=[CLEAN] * 8),
        [(request("8x8", level="block", required=True), 1.0)],
        Fraction(0),
    ),
    "a free shape can use broken nodes of a domain that has enough": (
        racks(r1=[HALF] * 3, r2=[HALF]),
        [(request("12", level="rack", required=True), 1.0)],
        Fraction(4, 16),
    ),
    "groups leave a rest": (
        [spot("n1", "x.......", links="00001111")],
        [(request("2", tp=2), 1.0)],
        Fraction(1, 7),
    ),
    "another type is no fragment": (
        [spot("n1"), spot("n2", gpu_type="A100")],
        [(request("1", "A100"), 1.0)],
        Fraction(0),
    ),
    "nothing free wastes nothing": (racks(r1=[FULL]), [(Request(1), 1.0)], Fraction(0)),
    "more than any node has wastes all": (racks(r1=[CLEAN]), [(request("1x9"), 1.0)], Fraction(1)),
}


@pytest.mark.parametrize("case", MIXES)
def test_fragmentation_is_what_the_usual_jobs_cannot_use(case: str) -> None:
    spots, mix, want = MIXES[case]
    assert fragmentation(board(spots), mix) == pytest.approx(float(want))


@quick
@given(worlds(9, 6))
def test_a_free_gpu_is_usable_exactly_where_its_domain_holds_the_job(snap: Snapshot) -> None:
    for job in snap.waiting:
        if 0 < job.request.spot_share < 1:
            continue  # counted as if all nodes did
        ask = Ask(job.request, job.tier, relaxed=False)
        domains: dict[tuple[object, ...], list[int]] = {}
        free = 0
        for row, node in enumerate(snap.nodes):
            if not job.request.gpu_types or node.gpu_type in job.request.gpu_types:
                free += sum(snap.free[row, : len(node.nvlink)]) if node.usable else 0
                room = max(sizes(snap, ask, row))
                room = (
                    room
                    if room >= job.request.per_node and not (node.spot and not ask.request.spot_share)
                    else 0
                )
                domains.setdefault((node.gpu_type, *path(node, ask.level)), []).append(room)
        each = job.request.per_node
        held = (
            sum(rooms)
            for rooms in domains.values()
            if (sum(map(bool, rooms)) >= job.request.nodes if each else sum(rooms) >= ask.size)
        )
        want = (free - sum(held)) / free if free else 0.0
        got = fragmentation(start(snap), [(job.request, 2.0)], tier=job.tier, policy=snap.policy)
        assert got == pytest.approx(want), job
