"""The end that a verdict names is the first that helps, and limits are all it knows."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given

from scheduler.core.model import Running, Snapshot, Verdict
from scheduler.core.planner import plan
from scheduler.core.reasons import Reason
from scheduler.core.timeline import about_minutes
from tests.core.worlds import ABOVE, World, only, quick, unlimited, worlds


def after_ends(world: World, until: datetime) -> Snapshot:
    """The world when every run with a limit up to then has ended."""
    free = world.snap.free.copy()
    for run in world.snap.running:
        if run.ends_by is not None and run.ends_by <= until:
            rows, slots = np.array(world.held[run.job]).T
            free[rows, slots] = True
    return replace(world.snap, free=free)


def fits_after(world: World, verdict: Verdict, until: datetime) -> bool:
    (job,) = [job for job in world.snap.waiting if job.id == verdict.job]
    kinds = verdict.numbers["types"]
    assert isinstance(kinds, list)
    later = unlimited(after_ends(world, until))
    return any(plan(only(later, replace(job, gpu_type=str(kind)))).starts for kind in kinds)


@quick
@given(worlds())
def test_the_end_a_shortage_names_is_the_first_that_makes_room(world: World) -> None:
    for verdict in plan(world.snap).verdicts:
        if verdict.reason not in (Reason.FULL, Reason.SCATTERED):
            continue
        if "ends_by" in verdict.numbers:
            named = datetime.fromisoformat(str(verdict.numbers["ends_by"]))
            assert fits_after(world, verdict, named)
            assert not fits_after(world, verdict, named - timedelta(seconds=1))
        else:
            assert not fits_after(world, verdict, world.snap.taken_at + timedelta(days=30))


def belongs(run: Running, team: str) -> bool:
    name: str | None = run.team
    while name not in (None, team):
        name = ABOVE[name]
    return name == team


@quick
@given(worlds())
def test_the_end_a_team_limit_names_is_the_first_that_brings_enough_quota_back(world: World) -> None:
    for verdict in plan(world.snap).verdicts:
        if verdict.reason != Reason.TEAM_LIMIT:
            continue
        told = verdict.numbers
        team, left = str(told["team"]), int(told["held"])  # type: ignore[arg-type]
        theirs = [
            run for run in world.snap.running if belongs(run, team) and run.gpu_type == told["gpu_type"]
        ]
        first = None
        for end, number, gpus in sorted((r.ends_by, r.job, r.gpus) for r in theirs if r.ends_by is not None):
            left -= gpus
            if left + told["asked"] <= told["nominal"]:  # type: ignore[operator]
                first = (number, end.isoformat())
                break
        assert (first is None) == ("ends_by" not in told)
        assert first is None or first == (told["ends_job"], told["ends_by"])


ROUNDED = {
    "overdue": (-300, 1),
    "now": (0, 1),
    "61 seconds": (61, 2),
    "ten minutes": (600, 10),
    "eleven minutes": (660, 15),
    "forty minutes": (2400, 40),
    "two hours": (7200, 120),
    "two hours and a second": (7201, 150),
    "a day": (86400, 1440),
    "a day and a minute": (86460, 2880),
    "three days": (3 * 86400, 3 * 1440),
}


@pytest.mark.parametrize("wait", ROUNDED)
def test_waits_are_rounded_up_so_that_a_verdict_rarely_changes(wait: str) -> None:
    seconds, minutes = ROUNDED[wait]
    assert about_minutes(timedelta(seconds=seconds)) == minutes
