"""Younger work is called back early only for an older job that may start then."""

import pytest

from scheduler.core.model import Share, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from tests.core.builders import HOUR, MINUTE, NOW, drawn, job, run, snapshot, spot, tree

LOW = {"tier": Tier.OPPORTUNISTIC}
SPOTS = [spot("n1", "aabbcc..")]  # ops, a guest who ran long, a guest who may not be stopped
POLICY = Policy(
    recall_after_s=2 * MINUTE, min_runtime_s=dict.fromkeys(("production", "standard", "opportunistic"), 0.0)
)


@pytest.mark.parametrize(("lend", "called"), [(None, [2]), (0, [])], ids=["lends", "keeps"])
def test_nobody_is_called_back_for_whom_quota_would_still_refuse(lend: int | None, called: list[int]) -> None:
    """Ops holds 2 of its 4; when the guest has gone, 4 are free, and where ops keeps 2 of them the older may not have 4."""
    teams = tree(("ops", None, {"H100": Share(4, lend=lend)}), ("vision", None, {"H100": 8}))
    runs = [
        run(1, drawn(SPOTS, "a"), team="ops"),
        run(
            2,
            drawn(SPOTS, "b"),
            team="guest",
            started_at=NOW - 5 * MINUTE,
            submitted_at=NOW - 6 * MINUTE,
            **LOW,
        ),
        run(3, drawn(SPOTS, "c"), team="guest", preemptible=False, **LOW),
    ]
    older = job(9, "4", team="vision", submitted_at=NOW - 9 * HOUR, **LOW)
    found = plan(snapshot(SPOTS, [older], runs, teams, policy=POLICY))
    assert [stop.job for stop in found.stops] == called
