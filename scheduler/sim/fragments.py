"""How much of what is free the first in line could not use."""

from scheduler.sim.workload import Ask
from scheduler.sim.world import World


def unusable(world: World, head: int) -> float:
    """The share of free GPUs on nodes that the job does not accept, or that have too few of them for it.

    A job that a single node could hold needs all its GPUs there; a larger one can use any node where a whole
    tensor-parallel group fits. Nothing free counts as nothing wasted.
    """
    ask, spare = world.asks[head], world.floor.spare
    free = world.floor.idle
    if not free:
        return 0.0
    allowed = world.site.allowed(ask)
    unit = _unit(ask, int(world.site.size[allowed].max(initial=0)))
    return 1.0 - int(spare[allowed & (spare >= unit)].sum()) / free


def _unit(ask: Ask, largest: int) -> int:
    if ask.gpus_per_node is not None:
        return ask.gpus_per_node
    return ask.gpus if ask.gpus <= largest else ask.tp


class Fragmentation:
    """The mean over the time in which somebody waited."""

    def __init__(self) -> None:
        self.share: float | None = None  # since the last look; None = nobody waited
        self.weighted = 0.0
        self.seconds = 0.0

    def pass_time(self, seconds: float) -> None:
        """So much time went by since the last look."""
        if self.share is not None:
            self.weighted += self.share * seconds
            self.seconds += seconds

    @property
    def mean(self) -> float:
        """0 when nobody ever waited."""
        return self.weighted / self.seconds if self.seconds else 0.0
