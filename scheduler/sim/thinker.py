"""What a policy must be able to do to be replayed."""

from typing import Protocol

from scheduler.sim.decisions import Decisions
from scheduler.sim.world import World

# Where nothing is known, an estimate says "not within a month": beyond that nobody foresees anything.
HORIZON_S = 30 * 86400.0


class Thinker(Protocol):
    """Reads the world, never writes it, and never looks at `world.oracle`."""

    restless: bool  # whether time alone can change its mind: then it thinks at least every cycle_s

    def impossible(self, world: World, job: int) -> str:
        """Why this job could never run here, as a sentence; "" if it could."""
        ...

    def estimate(self, world: World, job: int) -> tuple[float, float]:
        """When the job that is being submitted should start, with chance one half and nine tenths."""
        ...

    def mend(self, world: World) -> Decisions:
        """Swaps for the runs in `world.broken`; those that stay broken are stopped, and their jobs wait."""
        ...

    def think(self, world: World) -> Decisions:
        """What to do now. Called while something waits, at every event."""
        ...
