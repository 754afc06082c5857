"""A preferred level is waited for only while that can help, and never by production."""

from dataclasses import replace

import pytest

from scheduler.core.model import Job, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from tests.core.builders import NOW, job, racks, snapshot

PATIENT = Policy(relax_after_s=300.0)
BROKEN = racks(r1=["aaaa....", "bbbb...."])  # eight are free, four in each node


def _starts(**asked: object) -> bool:
    one = job(1, **{"shape": "8", "level": "node", "submitted_at": NOW - 10.0} | asked)
    return bool(plan(snapshot(BROKEN, [one], policy=PATIENT)).starts)


@pytest.mark.parametrize(
    ("asked", "starts"),
    [
        ({}, False),
        ({"submitted_at": NOW - 301.0}, True),
        ({"level": "rack"}, True),  # there it fits
        ({"level": ""}, True),
        ({"tier": Tier.PRODUCTION}, True),
        ({"required": True, "tier": Tier.PRODUCTION}, False),
        ({"required": True, "submitted_at": NOW - 301.0}, False),
    ],
)
def test_it_waits_for_what_it_prefers_as_long_as_the_policy_says(
    asked: dict[str, object], *, starts: bool
) -> None:
    assert _starts(**asked) is starts


def test_nobody_waits_for_a_node_that_would_have_to_be_larger_than_any() -> None:
    empty = racks(r1=["........", "........"])
    one = job(1, "16", level="node", submitted_at=NOW - 10.0)
    assert plan(snapshot(empty, [one], policy=PATIENT)).starts


def test_an_elastic_job_waits_where_its_smallest_size_could_have_what_it_prefers() -> None:
    one = job(1, "16", level="node", min_gpus=8, submitted_at=NOW - 10.0)
    assert not plan(snapshot(BROKEN, [one], policy=PATIENT)).starts


THREES = racks(r1=["aaaaa...", "bbbbbbbb"], r2=["ccccc...", "dddddddd"])


@pytest.mark.parametrize("policy", [PATIENT, Policy()])
@pytest.mark.parametrize("tier", [Tier.STANDARD, Tier.PRODUCTION])
def test_preferred_is_offered_to_those_who_would_start_with_it(tier: Tier, policy: Policy) -> None:
    """Two that are alike but for their age are asked what to change, and then asked for that."""
    asked = {"level": "rack", "required": True, "tier": tier}
    young, old = (
        job(number, "4", submitted_at=NOW - age, **asked) for number, age in ((1, 10.0), (2, 301.0))
    )
    verdicts = plan(snapshot(THREES, [young, old], policy=policy)).verdicts
    offered = {verdict.job: "fits_preferred" in verdict.numbers for verdict in verdicts}
    assert offered == {one.id: _starts_preferring(one, policy) for one in (young, old)}
    assert offered[old.id]


def _starts_preferring(one: Job, policy: Policy) -> bool:
    wish = replace(one, request=replace(one.request, required=False))
    return bool(plan(snapshot(THREES, [wish], policy=policy)).starts)
