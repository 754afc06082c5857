"""The policy `default`: the real planner, at every event of a replay."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from scheduler.core import planner
from scheduler.core.allowed import effective_limit
from scheduler.core.model import Snapshot
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan
from scheduler.sim.decisions import Act, AskStop, Decisions, Planned, Start, Swap
from scheduler.sim.thinkers.estimates import Estimates
from scheduler.sim.thinkers.ever import Ever
from scheduler.sim.thinkers.rhythm import Rhythm
from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.world import World

Planner: TypeAlias = Callable[[Snapshot, Desk], Plan]
# Nobody reads the verdicts of a replay: their reasons are enough.
BRIEFLY: Planner = partial(planner.plan, evidence=False)


class Berth:
    """Looks at a world, asks the planner, and says what it decided in the words of a replay. One for each replay."""

    restless = False  # it names the moments itself at which time alone could change its mind

    def __init__(self, plan: Planner = BRIEFLY) -> None:
        self._planner, self._desk = plan, Desk()
        self._known: tuple[Snapshots, Ever] | None = None
        self._estimates, self._rhythm = Estimates(), Rhythm()
        # The plan for this instant that was made while jobs were being submitted, to tell them when they start.
        self._early: tuple[float, Plan] | None = None

    def impossible(self, world: World, job: int) -> str:
        """Why the empty and healthy cluster, or its team's quota, could never hold it."""
        snapshots, ever = self._of(world)
        return ever.why_not(snapshots.lineup.portray(world, job))

    def estimate(self, world: World, job: int) -> tuple[float, float]:
        """From the plan of this very instant, in which all jobs of this instant stand in line."""
        snapshots, _ = self._of(world)
        if self._early is None or self._early[0] != world.now or job not in snapshots.lineup:
            self._early = world.now, self._plan_ahead(world, job)
        return self._estimates.times(snapshots, job, self._early[1])

    def mend(self, world: World) -> Decisions:
        """Another place for what is lost of each gang, as far as there is one."""
        snapshots, _ = self._of(world)
        swaps, self._early = self._plan(snapshots).swaps, None  # after this, another plan is due
        for job in world.broken:
            snapshots.holders.witness(world, job)
            snapshots.holders.change(job)
        return Decisions(tuple(Swap(swap.job, swap.out.node, swap.into) for swap in swaps))

    def think(self, world: World) -> Decisions:
        """One plan, carried out as a whole."""
        snapshots, _ = self._of(world)
        early = self._early if self._early and self._early[0] == world.now else None
        self._early = None
        plan = early[1] if early and snapshots.lineup.same(world) else self._plan(snapshots)
        snapshots.decided(plan)
        self._estimates.decided(snapshots, plan)
        for start in plan.starts:
            self._rhythm.started(world, start.job)
        acts = _acts(plan, snapshots)
        wake_s = self._rhythm.next(snapshots, plan, acted=bool(acts))
        planned = tuple(Planned(promise.job, promise.at, promise.seats) for promise in plan.promises)
        return Decisions(acts, plan.order[0] if plan.order else None, wake_s, planned)

    def _plan_ahead(self, world: World, job: int) -> Plan:
        """The plan of this instant, as if everybody who is submitted in it stood in line already."""
        snapshots, _ = self._of(world)
        snapshots.look()
        for other in range(job, len(world.asks)):
            if world.asks[other].submit_s > world.now:
                break
            if not self.impossible(world, other):
                snapshots.lineup.expect(world, other)
        return self._planner(snapshots.snapshot(), self._desk)

    def _plan(self, snapshots: Snapshots) -> Plan:
        snapshots.look()
        return self._planner(snapshots.snapshot(), self._desk)

    def _of(self, world: World) -> tuple[Snapshots, Ever]:
        if self._known is None or self._known[0].world is not world:
            self._known = Snapshots(world), Ever(world)
        return self._known


def _acts(plan: Plan, snapshots: Snapshots) -> tuple[Act, ...]:
    """Who starts without a limit in a tier that has a longest one gets that: the plan already counts on it."""
    policy, jobs = snapshots.world.policy, snapshots.lineup
    starts = (
        Start(start.job, start.seats, effective_limit(jobs.job(start.job), policy)) for start in plan.starts
    )
    stops = (AskStop(stop.job, stop.why.value, stop.for_job) for stop in plan.stops)
    return (*starts, *stops)
