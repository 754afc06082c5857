"""To whom nothing may be lent, because nobody could take it back in time, in some reading of the policy."""

from tests.sim.checker.reading import NOBODY, Job, Policy

# What the policy says where the file does not.
MINIMUM_S = (300.0, 600.0, 0.0)  # by tier, as in TIERS
GRACE_S, CYCLE_S, PROMISE_S = 120.0, 30.0, 3600.0


def refused(job: Job, policy: Policy) -> bool:
    """Whether it may be stopped never, on no day, or later than lenders are promised to have theirs back."""
    if not job.preemptible or policy.stops_per_day == 0:
        return True
    if policy.user_stops_per_day == 0 and job.user != NOBODY:
        return True
    runtime = _or(policy.min_runtime_s[job.tier], MINIMUM_S[job.tier])
    back_s = runtime + _or(policy.grace_s, GRACE_S) + _or(policy.cycle_s, CYCLE_S)
    return back_s > _or(policy.return_promise_s, PROMISE_S)


def _or(told: float | None, usual: float) -> float:
    return usual if told is None else told
