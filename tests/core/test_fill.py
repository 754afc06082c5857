"""How far the fill looks: behind the head as the policy says, and at the head itself always."""

from dataclasses import replace

import pytest

from scheduler.core.model import Job, Share, Snapshot, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason
from tests.core.builders import DAY, HOUR, MINUTE, NOW, drawn, job, run, snapshot, spot, tree

EMPTY, FULL = "........", "rrrrrrrr"
TEAMS = tree(("vision", None, {"H100": Share(8, 0)}), ("speech", None, {"H100": 8}))


def again(number: int, shape: str = "1x8", **more: object) -> Job:
    """It had its turn and made way for others an hour ago; it will probably run long."""
    known = {"stops": 1, "seen_s": 3 * HOUR, "forecast_s": DAY, "stopped_at": NOW - HOUR}
    return job(number, shape, **(known | more))


def fresh(number: int, shape: str = "1x8", **more: object) -> Job:
    return job(number, shape, **({"forecast_s": MINUTE} | more))


def looked(nodes: list[str], *waiting: Job) -> Snapshot:
    """What is taken there runs on."""
    spots = [spot(f"n{number}", slots) for number, slots in enumerate(nodes, start=1)]
    seats = drawn(spots, "r")
    return snapshot(spots, waiting, [run(9, seats, preemptible=False)] if seats else ())


# What stands there and who waits in fair order; who starts when the fill looks at nobody, at one, at all.
CASES: dict[str, tuple[Snapshot, list[list[int]]]] = {
    "alone on an idle cluster it starts again": (
        looked([EMPTY], again(1, tier=Tier.OPPORTUNISTIC)),
        [[1], [1], [1]],
    ),
    "so do all, with the fresh ones behind": (
        looked([EMPTY] * 4, again(1), again(2), fresh(3), fresh(4)),
        [[1, 2, 3, 4]] * 3,
    ),
    "a fresh job of its owner goes first where the fill may look at it": (
        looked([EMPTY], again(1), fresh(2)),
        [[1], [2], [2]],
    ),
    "the quickest cannot start and uses up the one look": (
        looked([EMPTY, FULL], again(1), fresh(2, "2x8")),
        [[1], [1], [1]],
    ),
    "behind one that finds no place nobody is looked at": (
        looked([EMPTY, FULL], again(1, "2x8"), fresh(2)),
        [[], [2], [2]],
    ),
    "behind a head that was tried it is looked at like others": (
        looked([EMPTY, FULL], fresh(1, "2x8", user="noor"), again(2)),
        [[], [], [2]],
    ),
    "whom quota refuses stands in nobody's way": (
        replace(looked([EMPTY, FULL], fresh(1, tier=Tier.PRODUCTION), again(2, team="speech")), teams=TEAMS),
        [[2], [2], [2]],
    ),
}


@pytest.mark.parametrize("depth", [0, 1, 10_000])
@pytest.mark.parametrize("case", CASES)
def test_who_starts_when_the_fill_looks_so_far(case: str, depth: int) -> None:
    snap, wanted = CASES[case]
    found = plan(replace(snap, policy=Policy(backfill_depth=depth)))
    assert sorted(start.job for start in found.starts) == wanted[min(depth, 2)]


def test_who_was_looked_at_in_line_is_told_so_though_the_fill_looks_at_nobody() -> None:
    """The head is planned; the one behind fits, and only the fill could have started it."""
    snap = looked([EMPTY, FULL], fresh(1, "2x8"), fresh(2))
    ending = tuple(replace(one, ends_by=NOW + HOUR) for one in snap.running)
    found = plan(replace(snap, running=ending, policy=Policy(backfill_depth=0)))
    assert {one.job: one.reason for one in found.verdicts} == {1: Reason.FULL, 2: Reason.NOT_REACHED}
    assert [one.numbers["planned_in_min"] for one in found.verdicts if one.job == 1] == [60]
