"""How soon a loan can be back, which loans are refused for it, and how long production waits at most."""

from dataclasses import replace
from math import inf

import pytest

from scheduler.core.model import Job, Request, Running, Seat, Tier
from scheduler.core.policy import HOUR, Policy
from scheduler.core.promise import back_within, lendable_limit_s, may_lend, start_bound, stated_bound

NOW = 10_000.0
POLICY = Policy()  # minimum runtimes 0, 600, 300; grace 120; cycle 30; promise 3600
JOB = Job(1, 1, "vision", "mira", Tier.STANDARD, 0.0, Request(8))
RUN = Running(1, "vision", Tier.STANDARD, "H100", (Seat(1, (0,)),), Request(1), NOW, user="mira")

BACK: dict[str, tuple[Job | Running, float]] = {
    "after its minimum runtime, the grace and a cycle": (JOB, 750.0),
    "sooner in a lower tier": (replace(JOB, tier=Tier.OPPORTUNISTIC), 450.0),
    "by its limit where that is shorter": (replace(JOB, limit_s=100.0), 100.0),
    "by its limit alone where it may not be stopped": (
        replace(JOB, preemptible=False, limit_s=5000.0),
        5000.0,
    ),
    "its limit and the restart of a job that ran before": (
        replace(JOB, preemptible=False, limit_s=5000.0, seen_s=1.0),
        5060.0,
    ),
    "never, as far as anybody knows": (replace(JOB, preemptible=False), inf),
    "not while it was stopped so often today": (replace(JOB, stops_today=3), inf),
    "by its limit while it was stopped so often today": (replace(JOB, stops_today=3, limit_s=60.0), 60.0),
    "a run that just began": (RUN, 750.0),
    "a run that ran part of its minimum": (replace(RUN, started_at=NOW - 200.0), 550.0),
    "a run that ran for long": (replace(RUN, started_at=0.0), 150.0),
    "a run that ends soon": (replace(RUN, started_at=0.0, ends_by=NOW + 40.0), 40.0),
    "a run that may not be stopped": (replace(RUN, preemptible=False, ends_by=NOW + 900.0), 900.0),
    "a run that was asked to go": (replace(RUN, stopping=True, asked_at=NOW - 100.0), 20.0),
    "a run that should have gone by now": (replace(RUN, stopping=True, asked_at=NOW - 200.0), 0.0),
}


@pytest.mark.parametrize("what", BACK)
def test_a_loan_is_back(what: str) -> None:
    work, seconds = BACK[what]
    assert back_within(work, POLICY, NOW) == seconds


LOANS = {
    "to work that can be stopped in time": (JOB, POLICY, True),
    "to work that cannot be stopped, with a short limit": (
        replace(JOB, preemptible=False, limit_s=HOUR),
        POLICY,
        True,
    ),
    "not to work that cannot be stopped, with a long limit": (
        replace(JOB, preemptible=False, limit_s=HOUR + 1),
        POLICY,
        False,
    ),
    "not to work that cannot be stopped, without a limit": (replace(JOB, preemptible=False), POLICY, False),
    "to the same where its tier has a short one": (
        replace(JOB, preemptible=False),
        Policy.of({"max_duration_s": 1800}),
        True,
    ),
    "not where the minimum runtime is longer than the promise": (
        JOB,
        Policy.of({"min_runtime_s": {"standard": 3600}}),
        False,
    ),
    "just within the promise": (JOB, Policy.of({"return_promise_s": 750}), True),
    "just beyond it": (JOB, Policy.of({"return_promise_s": 749}), False),
}


@pytest.mark.parametrize("what", LOANS)
def test_a_loan_is_given(what: str) -> None:
    job, policy, given = LOANS[what]
    assert may_lend(job, policy) is given


def test_production_waits_for_the_longest_minimum_left_the_grace_and_a_cycle() -> None:
    young, old = replace(RUN, started_at=NOW - 100.0), replace(RUN, started_at=0.0)
    assert start_bound([old, young], POLICY, NOW) == 500.0 + 120.0 + 30.0
    assert start_bound([old], POLICY, NOW) == 150.0
    assert start_bound([], POLICY, NOW) == 150.0
    assert start_bound([RUN], POLICY, NOW) == stated_bound(POLICY) == 750.0


@pytest.mark.parametrize("job", [JOB, replace(JOB, seen_s=1.0), replace(JOB, stops=1, restart_s=600.0)])
def test_with_the_limit_that_is_told_it_could_have_a_loan_and_with_no_longer_one(job: Job) -> None:
    firm = replace(job, preemptible=False, limit_s=lendable_limit_s(job, POLICY))
    assert may_lend(firm, POLICY)
    assert not may_lend(replace(firm, limit_s=firm.limit_s + 1.0), POLICY)
