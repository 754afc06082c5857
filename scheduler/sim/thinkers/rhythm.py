"""When to think again though nothing has happened: while something waits, time alone can change a plan."""

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf, nextafter

from scheduler.core.allowed import Allowed
from scheduler.core.model import Job
from scheduler.core.reasons import Reason
from scheduler.core.recall import due_at
from scheduler.core.verbs import Plan
from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.world import World

# A thought that came to nothing is repeated later and later, up to so many cycles: recalls ripen slowly.
LONGEST_PAUSE = 10


class Rhythm:
    """One cycle after an event; then longer, but not past the moment from which somebody may be stopped."""

    def __init__(self) -> None:
        self._cycles = 1
        self._woken = -1.0  # when it wanted to be woken
        self._ripe: list[float] = []  # when the runs started lately will have had their minimum runtime

    def started(self, world: World, job: int) -> None:
        """From a moment on its run may be stopped."""
        least = world.policy.min_runtime_s[world.asks[job].tier.word]
        if least > 0.0:
            heappush(self._ripe, world.now + least)

    def next(self, snapshots: Snapshots, plan: Plan, *, acted: bool) -> float | None:
        """When to think again at the latest; None = only when something happens."""
        world = snapshots.world
        while self._ripe and self._ripe[0] <= world.now:
            heappop(self._ripe)
        if not world.running and not acted:
            return min(_openings(snapshots, plan), default=None)
        idle = world.now == self._woken and not acted
        self._cycles = min(2 * self._cycles, LONGEST_PAUSE) if idle else 1
        cycle_s = world.policy.cycle_s
        self._woken = world.now + self._cycles * cycle_s
        if self._ripe:
            self._woken = min(self._woken, max(self._ripe[0], world.now + cycle_s))
        self._woken = max(self._woken, _soonest(world))
        return self._woken


def _openings(snapshots: Snapshots, plan: Plan) -> Iterator[float]:
    """With nothing running: when time alone may let somebody start who waits, one moment or more for each."""
    world, lineup = snapshots.world, snapshots.lineup
    if lineup.changes_at is not None:
        yield lineup.changes_at
    for verdict in plan.verdicts:
        job = lineup.job(verdict.job)
        if job.gate is None:
            yield from _opens(world, job, verdict.reason)


def _opens(world: World, job: Job, reason: Reason) -> Iterator[float]:
    """Its peak ends, or its patience with the topology; or it is due, however few the fill may look at."""
    now, policy, request = world.now, world.policy, job.request
    if reason is Reason.NOT_ALLOWED:
        gate = Allowed(policy, now).gate(job)
        if gate is not None and gate.until is not None:
            yield gate.until
        return
    if request.level and not request.required and now - job.submitted_at < policy.relax_after_s:
        yield max(job.submitted_at + policy.relax_after_s, _soonest(world))
    if reason is Reason.NOT_REACHED and due_at(job, policy) > now:
        yield due_at(job, policy)


def _soonest(world: World) -> float:
    """The next moment there is: very late, a double does not tell one second from the next."""
    return nextafter(world.now, inf)
