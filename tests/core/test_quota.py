"""Quota at every level, and snapshots that make no sense."""

import numpy as np
import pytest

from scheduler.core.model import Snapshot, Team
from scheduler.core.planner import plan
from scheduler.core.quota import Books
from tests.core.builders import NOW, job, run, snapshot, spot, tree


def starts(nominal: dict[str, dict[str, int]], *asked: str, held: int = 0) -> list[int]:
    """Who starts of jobs of the team depth, below vision, below org, on 24 free H100 and 8 free A100."""
    above = {"org": None, "vision": "org", "depth": "vision"}
    teams = tree(*((name, parent, nominal.get(name, {})) for name, parent in above.items()))
    spots = [spot("n1"), spot("n2"), spot("n3"), spot("n4", gpu_type="A100"), spot("n5", "x" * 8)]
    jobs = [job(number, shape, team="depth") for number, shape in enumerate(asked, start=1)]
    running = [run(99, [5], held, team="vision")] if held else []
    return [start.job for start in plan(snapshot(spots, jobs, running, teams)).starts]


def test_without_a_number_for_the_type_there_is_no_limit() -> None:
    assert starts({"depth": {"A100": 0}}, "1x8", "1x8", "1x8") == [1, 2, 3]


def test_the_own_team_limits() -> None:
    assert starts({"depth": {"H100": 16}}, "1x8", "1x8", "1x8") == [1, 2]


@pytest.mark.parametrize("level", ["org", "vision", "depth"])
def test_each_level_above_limits_too(level: str) -> None:
    assert starts({level: {"H100": 8}}, "1x4", "1x4", "1x1") == [1, 2]


def test_what_runs_counts_for_the_teams_above_but_not_for_the_sister() -> None:
    assert starts({"vision": {"H100": 8}}, "1x4", "1x4", held=4) == [1]
    assert starts({"depth": {"H100": 8}}, "1x4", "1x4", held=4) == [1, 2]


def test_a_job_too_large_for_what_is_left_lets_a_smaller_one_pass() -> None:
    assert starts({"depth": {"H100": 8}}, "1x6", "1x4", "1x2") == [1, 3]


def test_any_type_means_a_type_with_quota_left() -> None:
    teams = tree(("vision", None, {"A100": 4}))
    snap = snapshot([spot("n1", gpu_type="A100"), spot("n2")], [job(1, "1x8", "")], teams=teams)
    (start,) = plan(snap).starts
    assert start.seats[0].node == 2


WRONG = {
    "a job of a team that is not in the tree": lambda: plan(snapshot([spot("n1")], [job(1, team="ghosts")])),
    "a team above that is missing": lambda: Books([Team("vision", "org")], ()),
    "a circle of teams": lambda: Books([Team("a", "b"), Team("b", "a")], ()),
    "a free table of the wrong height": lambda: Snapshot(NOW, (), np.zeros((1, 8), dtype=bool)),
    "a free table that is too narrow": lambda: Snapshot(
        NOW, (spot("n1").node,), np.zeros((1, 4), dtype=bool)
    ),
    "a job for no GPU": lambda: job(1, "1x0"),
    "a job for no node": lambda: job(1, "0x8"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_snapshot_that_makes_no_sense_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        WRONG[what]()


def test_the_planner_cannot_write_into_the_snapshot() -> None:
    snap = snapshot([spot("n1")])
    with pytest.raises(ValueError, match="read-only"):
        snap.free[0, 0] = False
