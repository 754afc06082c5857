"""What the policy allows a job apart from quota: how long, how many at once, how large at which hour, where."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import inf

from scheduler.core.model import Facts, Gate, Job, Moment, Running, Tier
from scheduler.core.policy import HOUR, Peak, Policy
from scheduler.core.reasons import Reason

WEEK_HOURS = 7 * 24


def effective_limit(job: Job, policy: Policy) -> float | None:
    """The limit of its runs: its own, or the longest its tier allows; None = no limit."""
    if job.limit_s is not None:
        return job.limit_s
    most = policy.max_duration_s[job.tier.word]
    return None if most == inf else most


def never(job: Job, policy: Policy) -> Facts | None:
    """Which rule forbids the job for as long as the policy stands; None = no rule does."""
    tier = job.tier.word
    if job.limit_s is not None and job.limit_s > policy.max_duration_s[tier]:
        most_s = policy.max_duration_s[tier]
        return {"kind": "duration", "tier": tier, "limit_s": job.limit_s, "most_s": most_s}
    if job.request.pool in policy.production_pools and job.tier is not Tier.PRODUCTION:
        return {"kind": "pool", "tier": tier, "pool": job.request.pool}
    if policy.max_jobs_per_user[tier] < 1:
        return {"kind": "jobs", "tier": tier, "most": 0}
    peaks = _for(job, policy, job.request.least) if policy.peaks else ()
    if peaks and _opens(peaks, 0) is None:
        smallest = min(peak.gpus for peak in peaks)
        return {"kind": "peak", "tier": tier, "asked": job.request.least, "gpus": smallest}
    return None


class Allowed:
    """The same for now: it counts who runs how many, as far as the plan has come."""

    def __init__(self, policy: Policy, now: Moment, running: Iterable[Running] = ()) -> None:
        self._policy, self._now = policy, now
        self._caps = {tier: policy.max_jobs_per_user[tier.word] for tier in Tier}
        self._jobs: Counter[tuple[str, Tier]] = Counter()
        if min(self._caps.values()) < inf:
            self._jobs.update((run.user, run.tier) for run in running)

    def started(self, job: Job) -> None:
        """Count a start of this plan."""
        self._jobs[job.user, job.tier] += 1

    def gate(self, job: Job) -> Gate | None:
        """What keeps the job out for now; ask again at its turn, for others of its user may have started."""
        cap = self._caps[job.tier]
        if cap < inf and (runs := self._jobs[job.user, job.tier]) >= cap:
            numbers: Facts = {"kind": "jobs", "tier": job.tier.word, "running": runs, "most": int(cap)}
            return Gate(Reason.NOT_ALLOWED, numbers)
        return self._rush(job) if self._policy.peaks else None

    def size(self, job: Job) -> int:
        """The most GPUs it may start with now: an elastic job stays below what waits for the peak to end."""
        now = (peak.gpus for peak in _for(job, self._policy, job.request.gpus) if peak.covers(self._now))
        most = min(now, default=job.request.gpus + 1) - 1
        return most // job.request.tp * job.request.tp

    def _rush(self, job: Job) -> Gate | None:
        peaks = _for(job, self._policy, job.request.least)
        peak = next((peak for peak in peaks if peak.covers(self._now)), None)
        if peak is None:
            return None
        opens = _opens(peaks, int(self._now // HOUR) + 1)
        numbers: Facts = {
            "kind": "peak",
            "tier": job.tier.word,
            "asked": job.request.least,
            "gpus": peak.gpus,
            "from_hour": peak.from_hour,
            "until_hour": peak.until_hour,
        }
        return Gate(Reason.NOT_ALLOWED, numbers, until=opens)


def _for(job: Job, policy: Policy, gpus: int) -> tuple[Peak, ...]:
    word = job.tier.word
    return tuple(peak for peak in policy.peaks if gpus >= peak.gpus and word in peak.tiers)


@lru_cache(maxsize=256)
def _opens(peaks: tuple[Peak, ...], hour: int) -> Moment | None:
    """The first full hour from this one on that none of the peaks covers; None = they cover the whole week."""
    hours = (float(later) * HOUR for later in range(hour, hour + WEEK_HOURS))
    return next((moment for moment in hours if not any(peak.covers(moment) for peak in peaks)), None)
