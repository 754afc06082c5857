"""Wishes: how long a job waits for the level that it prefers, before any place will do."""

from scheduler.core.board import Board, empty_board
from scheduler.core.elastic import sizes
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Moment, Request, Tier
from scheduler.core.policy import Policy


class Wishes:
    """Those of one plan."""

    def __init__(self, layout: Layout, policy: Policy, now: Moment) -> None:
        self._layout, self._policy, self._now = layout, policy, now
        self._empty: Board | None = None  # only made where somebody waits for what it prefers
        self._thinkable: dict[Request, bool] = {}

    def binds(self, job: Job) -> bool:
        """Whether its preferred level is still waited for. Without, the tightest place is still the first choice."""
        return not job.request.required and self.would_bind(job)

    def would_bind(self, job: Job) -> bool:
        """The same if it only preferred the level that it asks for, whether it does or requires it."""
        if not job.request.level or self._now - job.submitted_at >= self._policy.relax_after_s:
            return False
        # Production has a bound on its wait, which says nothing of wishes (design 6.1).
        return job.tier is not Tier.PRODUCTION and self._is_thinkable(job)

    def _is_thinkable(self, job: Job) -> bool:
        """Whether one domain of that level could hold it: else it would wait for nothing."""
        request = job.request
        if request not in self._thinkable:
            if self._empty is None:
                self._empty = empty_board(self._layout)
            self._thinkable[request] = self._empty.holds(
                request, tier=job.tier, policy=self._policy, gpus=sizes(request)[0], relaxed=False
            )
        return self._thinkable[request]
