"""Figures at their ends: whatever the policy accepts, the cycle goes on, and every wait still has its sentence."""

from typing import Any

import pytest
from django.db import transaction

from portal.cycle import policy, queries, summary
from portal.cycle.figures import FIGURES
from portal.cycle.policy import LONGEST_S, MOST
from portal.errors import Refusal
from portal.jobs.models import Job
from portal.quotas.models import Quota
from scheduler.core.explain import sentence
from scheduler.core.policy import TIERS, Policy
from scheduler.core.reasons import Reason
from tests.portal.stage import Stage

LENGTHS = (0, 0.001, 86_400, LONGEST_S, 1e300)
COUNTS = (0, MOST, 10**30)
ENDS: dict[str, tuple[Any, ...]] = {
    "length": LENGTHS,
    "lengths": (*({"standard": value} for value in LENGTHS), dict.fromkeys(TIERS, 0)),
    "count": COUNTS,
    "counts": (*({"standard": value} for value in COUNTS), None),
    "number": (0, 0.001, MOST, 1e300),
    "pools": ([], ["train"], ["train", "train"], ["gone"], [""], ["\0"]),
    "peaks": (
        [],
        [{"from_hour": 0, "until_hour": 24, "gpus": 0, "weekdays": list(range(7)), "tiers": list(TIERS)}],
        [{"from_hour": 24, "until_hour": 0, "gpus": 10**30}],
        [{"from_hour": 9, "until_hour": 9, "gpus": 1, "weekdays": [], "tiers": []}],
    ),
}
CASES = [(name, value) for name, figure in FIGURES.items() for value in ENDS[figure.kind]]


def busy(stage: Stage) -> None:
    """Everything that the figures are about: work that may be stopped, somebody owed its place, gangs, a small job."""
    stage.add_nodes("n1", "n2", "n3")
    Quota.objects.create(team=stage.teams["vision"], gpu_type="H100", nominal=16, borrow=8)
    Quota.objects.create(team=stage.teams["language"], gpu_type="H100", nominal=8, borrow=16)
    for name in ("one", "two", "three"):
        tier = "opportunistic" if name == "one" else "standard"
        stage.running(stage.submit(name, tier=tier, gpus_per_node=7, by="omar", team="language"))
    stage.later(900)
    stage.beat()
    stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.submit("gang", nodes=2, gpus_per_node=8, limit_s=3600)
    stage.submit("small", gpus_per_node=1, tier="opportunistic")


def saved(stage: Stage, figures: dict[str, Any]) -> Refusal | None:
    """What the policy says to it; nothing when it is in force now."""
    try:
        policy.set_policy(figures=figures, seen=0, why="the end", by=stage.people["noor"], now=stage.now)
    except Refusal as refused:
        return refused
    return None


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value}"[:60] for name, value in CASES])
def test_a_figure_at_its_end_is_refused_in_words_or_the_cycle_goes_on_with_it(
    stage: Stage, name: str, value: Any
) -> None:
    stage.pool()
    figures = {**Policy().plain(), name: value}
    with transaction.atomic():
        refused = saved(stage, figures)
        transaction.set_rollback(True)  # the scene plays before it is in force
    if refused is not None:
        assert refused.field.startswith(name)
        assert len(refused.sentence) < 200
        return
    busy(stage)
    saved(stage, figures)
    for _ in range(2):
        assert stage.turn() is not None
        stage.later(30)
        stage.beat()
    waiting = Job.objects.filter(phase="waiting")
    assert all(sentence(Reason(job.reason), job.reason_numbers, now=stage.now) for job in waiting)
    assert all(text for _, text in summary.rules(queries.policy_of(queries.in_force())))
