"""What runs that outlived the end the plan assumed did to starts that had been planned behind them."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.sim.decisions import Planned
from scheduler.sim.floor import NOBODY
from scheduler.sim.world import World

# A plan that is due within a second is made anew, so its time counts as come.
DUE_S = 1.0


@dataclass(frozen=True, slots=True)
class _Kept:
    """A planned start, and since when it has been planned so."""

    plan: Planned
    since: float


class Overruns:
    """Holds the plans of a thinker against what came of them.

    A planned start names its seats, so the plan assumed that whoever held them would be gone by then. Who held
    them already when the plan was made, and still does when its time has come, has overrun.
    """

    def __init__(self) -> None:
        self._plans: dict[int, _Kept] = {}  # by job
        self._due: dict[int, float] = {}  # by job that waits behind an overrun: when it should have started
        self._runs: set[tuple[int, int]] = set()  # job and number of each run that overran
        self.delays_s: dict[int, float] = {}  # by job that started late: by how much

    def pass_time(self, world: World, until: float) -> None:
        """Nothing happens until then: plans whose time lies before have come to nothing."""
        for job in [job for job, kept in self._plans.items() if kept.plan.at < until]:
            self._judge(world, job)

    def decided(self, world: World, plans: Iterable[Planned]) -> None:
        """The plans of this thought, after it was carried out."""
        now, before = world.now, self._plans
        planned = {plan.job: plan for plan in plans if plan.at > now}
        for job, kept in before.items():
            if planned.get(job) != kept.plan and kept.plan.at <= now + DUE_S:
                self._judge(world, job, keep=True)
        self._plans = {
            job: before[job] if job in before and before[job].plan == plan else _Kept(plan, now)
            for job, plan in planned.items()
        }

    def started(self, job: int, now: float) -> None:
        """A job starts; whether it does so late."""
        self._plans.pop(job, None)
        due = self._due.pop(job, None)
        if due is not None and now > due:
            self.delays_s[job] = self.delays_s.get(job, 0.0) + now - due

    def plain(self) -> dict[str, float]:
        """For the report."""
        delays = self.delays_s.values()
        return {"runs": len(self._runs), "delayed_jobs": len(delays), "delayed_s": sum(delays)}

    def _judge(self, world: World, job: int, *, keep: bool = False) -> None:
        kept = self._plans[job] if keep else self._plans.pop(job)
        if job not in world.line:
            return
        cells = world.site.cells(kept.plan.seats)
        for holder in sorted(set(world.floor.owner.ravel()[cells].tolist()) - {NOBODY}):
            run = world.running[holder]
            late = (
                run.asked is None or run.asked.at >= kept.plan.at - DUE_S
            )  # or it is sent away for its lateness
            if run.started <= kept.since and late:
                self._runs.add((holder, run.number))
                self._due.setdefault(job, kept.plan.at)
