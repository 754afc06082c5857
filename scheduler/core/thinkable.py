"""Whether any run at all could go for a job: asked before every search, because it costs next to nothing."""

from scheduler.core.model import Job, Running, Snapshot, Tier
from scheduler.core.recall import ran_s


class Thinkable:
    """What is there to be stopped, in a few numbers."""

    def __init__(self, snap: Snapshot) -> None:
        may_go = [run for run in snap.running if run.preemptible and not run.stopping]
        self._lowest = min((run.tier for run in may_go), default=Tier.PRODUCTION)
        self._teams = {run.team for run in may_go} if snap.teams else set[str]()
        self._newest = _newest(may_go)
        after = snap.policy.recall_after_s
        self._newest_long = _newest([run for run in may_go if ran_s(run, snap.taken_at) > after])

    def by_rule(self, job: Job, *, due: bool) -> bool:
        """A lower tier, another team's work, or, once it is due, a younger job's."""
        if job.tier > self._lowest or self._teams - {job.team}:
            return True
        return due and self._newest.get(job.tier, job.submitted_at) > job.submitted_at

    @property
    def long(self) -> bool:
        """Whether anything has run for so long that it could make way early."""
        return bool(self._newest_long)

    def early(self, job: Job) -> bool:
        """A younger job of its tier that has run for long."""
        return self._newest_long.get(job.tier, job.submitted_at) > job.submitted_at


def _newest(runs: list[Running]) -> dict[Tier, float]:
    """By tier: when the newest of these jobs was submitted."""
    newest: dict[Tier, float] = {}
    for run in runs:
        newest[run.tier] = max(run.submitted_at, newest.get(run.tier, run.submitted_at))
    return newest
