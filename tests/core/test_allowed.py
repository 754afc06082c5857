"""What the policy allows apart from quota: duration, jobs at once, peaks, reserved pools."""

from dataclasses import replace
from math import inf

import pytest

from scheduler.core.allowed import Allowed, effective_limit, never
from scheduler.core.model import Gate, Job, Request, Running, Seat, Tier
from scheduler.core.policy import DAY, HOUR, Peak, Policy
from scheduler.core.reasons import Reason

STANDARD, PRODUCTION = Tier.STANDARD, Tier.PRODUCTION
MONDAY = 4 * DAY  # 1970 began on a Thursday


def job(gpus: int = 8, *, tier: Tier = STANDARD, limit_s: float | None = None, **asked: object) -> Job:
    """A job of mira's."""
    request = Request(gpus, **asked)  # type: ignore[arg-type]  # each test names fields of a request
    return Job(1, 1, "vision", "mira", tier, 0.0, request, limit_s)


def run(number: int, user: str = "mira", tier: Tier = STANDARD) -> Running:
    """Something that runs."""
    return Running(number, "vision", tier, "H100", (Seat(1, (0,)),), Request(1), 0.0, user=user)


def capped(field: str, standard: float) -> Policy:
    """A policy with a cap for standard jobs."""
    return replace(Policy(), **{field: {"production": inf, "standard": standard, "opportunistic": inf}})


def test_a_limit_over_the_cap_of_its_tier_is_never_allowed() -> None:
    policy = capped("max_duration_s", 7200.0)
    assert never(job(limit_s=7200.0), policy) is None
    assert never(job(limit_s=7201.0), policy) == {
        "kind": "duration",
        "tier": "standard",
        "limit_s": 7201.0,
        "most_s": 7200.0,
    }
    assert never(job(limit_s=7201.0, tier=PRODUCTION), policy) is None


def test_a_job_without_a_limit_gets_the_cap_as_its_limit() -> None:
    policy = capped("max_duration_s", 7200.0)
    assert effective_limit(job(), policy) == 7200.0
    assert effective_limit(job(limit_s=60.0), policy) == 60.0
    assert effective_limit(job(tier=PRODUCTION), policy) is None


def test_a_reserved_pool_is_for_production_alone() -> None:
    policy = Policy(production_pools=("live",))
    assert never(job(pool="live"), policy) == {"kind": "pool", "tier": "standard", "pool": "live"}
    assert never(job(pool="live", tier=PRODUCTION), policy) is None
    assert never(job(pool="training"), policy) is None
    assert never(job(), policy) is None


def test_so_many_jobs_of_a_user_and_tier_run_at_once() -> None:
    others = [run(7, "joe"), run(8, tier=PRODUCTION)]
    policy = capped("max_jobs_per_user", 2.0)
    assert Allowed(policy, 0.0, [run(1), *others]).gate(job()) is None
    numbers = {"kind": "jobs", "tier": "standard", "running": 2, "most": 2}
    assert Allowed(policy, 0.0, [run(1), run(2), *others]).gate(job()) == Gate(Reason.NOT_ALLOWED, numbers)


def test_what_starts_in_this_round_counts() -> None:
    allowed = Allowed(capped("max_jobs_per_user", 1.0), 0.0)
    assert allowed.gate(job()) is None
    allowed.started(job())
    assert allowed.gate(job()) is not None
    assert allowed.gate(job(tier=PRODUCTION)) is None


def test_a_tier_with_no_job_at_all_is_never_allowed() -> None:
    policy = capped("max_jobs_per_user", 0.0)
    assert never(job(), policy) == {"kind": "jobs", "tier": "standard", "most": 0}
    assert never(job(tier=PRODUCTION), policy) is None


RUSH = Peak(9, 17, 64)
AT = {
    "before it": (MONDAY + 8.99 * HOUR, None),
    "as it begins": (MONDAY + 9 * HOUR, MONDAY + 17 * HOUR),
    "in the middle": (MONDAY + 12.5 * HOUR, MONDAY + 17 * HOUR),
    "as it ends": (MONDAY + 17 * HOUR, None),
    "at the weekend": (MONDAY + 5 * DAY + 12 * HOUR, None),
}


@pytest.mark.parametrize("when", AT)
def test_an_expensive_shape_waits_for_the_end_of_the_peak(when: str) -> None:
    now, opens = AT[when]
    gate = Allowed(Policy(peaks=(RUSH,)), now).gate(job(64))
    assert (gate.until if gate else None) == opens
    assert Allowed(Policy(peaks=(RUSH,)), now).gate(job(63)) is None
    assert Allowed(Policy(peaks=(RUSH,)), now).gate(job(64, tier=PRODUCTION)) is None


def test_the_gate_of_a_peak_carries_its_numbers() -> None:
    gate = Allowed(Policy(peaks=(RUSH,)), MONDAY + 12 * HOUR).gate(job(80))
    assert gate == Gate(
        Reason.NOT_ALLOWED,
        {"kind": "peak", "tier": "standard", "asked": 80, "gpus": 64, "from_hour": 9, "until_hour": 17},
        until=MONDAY + 17 * HOUR,
    )


def test_peaks_that_follow_each_other_open_after_the_last() -> None:
    policy = Policy(peaks=(RUSH, Peak(17, 2, 32)))
    assert Allowed(policy, MONDAY + 12 * HOUR).gate(job(64)).until == MONDAY + 26 * HOUR  # type: ignore[union-attr]  # a gate, or the test fails
    assert Allowed(policy, MONDAY + 12 * HOUR).gate(job(32)) is None


def test_a_peak_over_midnight_belongs_to_the_day_it_began() -> None:
    policy = Policy(peaks=(Peak(22, 6, 8, weekdays=(4,)),))
    saturday = MONDAY + 5 * DAY
    assert Allowed(policy, saturday + 5 * HOUR).gate(job()) is not None
    assert Allowed(policy, saturday + 23 * HOUR).gate(job()) is None
    assert Allowed(policy, MONDAY + 4 * DAY + 5 * HOUR).gate(job()) is None


def test_a_peak_that_never_ends_forbids_for_good() -> None:
    policy = Policy(peaks=(Peak(0, 24, 64, weekdays=tuple(range(7))),))
    assert never(job(64), policy) == {"kind": "peak", "tier": "standard", "asked": 64, "gpus": 64}
    assert never(job(63), policy) is None
    assert never(job(64), Policy(peaks=(RUSH,))) is None


def test_an_elastic_job_starts_smaller_at_a_peak() -> None:
    rush = Allowed(Policy(peaks=(RUSH, Peak(9, 17, 48))), MONDAY + 12 * HOUR)
    elastic = job(128, min_gpus=16, tp=4)
    assert rush.gate(elastic) is None
    assert rush.size(elastic) == 44
    assert rush.size(job(16, tp=4)) == 16
    assert Allowed(Policy(peaks=(RUSH,)), MONDAY).size(elastic) == 128
