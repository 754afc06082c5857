"""How long lent capacity can be away, and how long those wait who were promised theirs."""

from collections.abc import Iterable
from math import inf

from scheduler.core.allowed import effective_limit
from scheduler.core.model import Job, Moment, Running, Tier
from scheduler.core.policy import Policy


def back_within(work: Job | Running, policy: Policy, now: Moment) -> float:
    """The longest time until what this work holds (a job: from its start on) can be back.

    It ends by its limit, or it is asked to go: after its minimum runtime, with the grace, one cycle later.
    """
    if isinstance(work, Running) and work.stopping:
        asked_at = now if work.asked_at is None else work.asked_at
        return max(0.0, asked_at + policy.grace_s - now)
    if not work.preemptible or _had_enough(work, policy):
        return _ends_within(work, policy, now)
    stopped = _minimum_left(work, policy, now) + policy.grace_s + policy.cycle_s
    return min(stopped, _ends_within(work, policy, now))


def may_lend(job: Job, policy: Policy) -> bool:
    """Whether a loan to this job would be back within the promise that lenders have."""
    return back_within(job, policy, 0.0) <= policy.return_promise_s


class Lending:
    """The same for thousands of jobs that are a few kinds: each kind is looked at once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[tuple[object, ...], bool] = {}
        answer_s = policy.grace_s + policy.cycle_s
        self._soon = {
            tier for tier in Tier if policy.min_runtime_s[tier.word] + answer_s <= policy.return_promise_s
        }

    def to(self, job: Job) -> bool:
        """Whether a loan to this job would be back within the promise that lenders have."""
        ran = job.stops > 0 or job.seen_s > 0
        key = (job.tier, job.limit_s, job.preemptible, job.stops_today, ran and job.restart_s)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = may_lend(job, self._policy)
        return known

    def back(self, run: Running, now: Moment) -> bool:
        """Whether what this run holds would be back within the promise."""
        if (
            run.preemptible
            and run.tier in self._soon
            and run.stops_today < self._policy.max_preemptions_per_day
        ):
            return True
        return back_within(run, self._policy, now) <= self._policy.return_promise_s


def start_bound(stoppable: Iterable[Running], policy: Policy, now: Moment) -> float:
    """Production inside nominal starts within this, while these may be stopped for it (design 6.1)."""
    left = max((_minimum_left(run, policy, now) for run in stoppable), default=0.0)
    return left + policy.grace_s + policy.cycle_s


def stated_bound(policy: Policy) -> float:
    """The same whatever runs: what the pages state."""
    return max(policy.min_runtime_s.values()) + policy.grace_s + policy.cycle_s


def _had_enough(work: Job | Running, policy: Policy) -> bool:
    """Stopped so often today that nobody may stop it: then only its limit brings a loan back.

    What its person suffered does not count: whoever lent it may have it back all the same.
    """
    return work.stops_today >= policy.max_preemptions_per_day


def _minimum_left(work: Job | Running, policy: Policy, now: Moment) -> float:
    ran = now - work.started_at if isinstance(work, Running) else 0.0
    return max(0.0, policy.min_runtime_s[work.tier.word] - ran)


def _ends_within(work: Job | Running, policy: Policy, now: Moment) -> float:
    if isinstance(work, Running):
        return inf if work.ends_by is None else max(0.0, work.ends_by - now)
    limit = effective_limit(work, policy)
    return inf if limit is None else limit + _comes_back_s(work)


def _comes_back_s(job: Job) -> float:
    """A limit bounds useful seconds, and a job that ran before first gets its work back."""
    return job.restart_s if job.stops or job.seen_s else 0.0


def lendable_limit_s(job: Job, policy: Policy) -> float:
    """The longest limit with which a job that may not be stopped could have a loan."""
    return max(0.0, policy.return_promise_s - _comes_back_s(job))
