"""When to think again though nothing has happened: while something waits, time alone can change a plan."""

from heapq import heappop, heappush

from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.world import World

# A thought that came to nothing is repeated later and later, up to so many cycles: recalls ripen slowly.
LONGEST_PAUSE = 10
HOUR_S = 3600.0


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

    def next(self, snapshots: Snapshots, *, acted: bool) -> float | None:
        """When to think again at the latest; None = only when something happens."""
        world = snapshots.world
        while self._ripe and self._ripe[0] <= world.now:
            heappop(self._ripe)
        if not world.running and not acted:
            return min((at for at in (self._hour(world), snapshots.lineup.changes_at) if at), default=None)
        idle = world.now == self._woken and not acted
        self._cycles = min(2 * self._cycles, LONGEST_PAUSE) if idle else 1
        cycle_s = world.policy.cycle_s
        self._woken = world.now + self._cycles * cycle_s
        if self._ripe:
            self._woken = min(self._woken, max(self._ripe[0], world.now + cycle_s))
        return self._woken

    def _hour(self, world: World) -> float | None:
        """With nothing running only the policy's hours, or its patience with a topology, open anything."""
        policy = world.policy
        waits = max((world.asks[job].submit_s for job in world.line), default=0.0) + policy.relax_after_s
        if policy.peaks:
            return (world.now // HOUR_S + 1) * HOUR_S
        return world.now + policy.cycle_s if waits > world.now else None
