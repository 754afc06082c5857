"""What will be free when, if every run ends by its limit; a blank limit never ends."""

from bisect import bisect_left
from collections.abc import Callable
from math import inf

import numpy as np

from scheduler.core.model import Seat
from scheduler.sim.decisions import Start
from scheduler.sim.site import Floats
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.workload import Ask
from scheduler.sim.world import World


def planned_end(world: World, job: int) -> float:
    """When a job that starts now is over by its limit; a later run needs its restart first."""
    ask = world.asks[job]
    restart = ask.restart_s if world.lives[job].runs else 0.0
    return inf if ask.limit_s is None else world.now + restart + ask.limit_s


class Outlook:
    """The planned ends of what runs, and of what this round starts."""

    def __init__(self, world: World, starts: list[Start]) -> None:
        self.world = world
        self._until = world.floor.until.copy()
        self._added: list[tuple[float, Start]] = []
        self._limited = bool(np.isfinite(world.site.cpus).any() or np.isfinite(world.site.memory_gib).any())
        for start in starts:
            self.add(start)

    def add(self, start: Start) -> None:
        """This job starts now."""
        end = planned_end(self.world, start.job)
        self._added.append((end, start))
        self._until.ravel()[self.world.site.cells(start.seats)] = end

    def at(self, moment: float) -> Scratch:
        """What will be free then."""
        site = self.world.site
        free = (self._until <= moment) & (self._until < inf) & ~self.world.floor.closed
        return Scratch(
            site, free, *(self._supplies(moment) if self._limited else (site.cpus, site.memory_gib))
        )

    def earliest(self, holds: Callable[[Scratch], bool]) -> float:
        """The earliest planned end at which something holds that more room only helps; infinite if at none."""
        ends = np.unique(self._until[np.isfinite(self._until) & (self._until > self.world.now)]).tolist()
        if not ends or not holds(self.at(ends[-1])):
            return inf
        return float(ends[bisect_left(ends, True, key=lambda end: holds(self.at(end)))])

    def _supplies(self, moment: float) -> tuple[Floats, Floats]:
        """CPUs and memory that the runs of that moment leave."""
        cpus, memory_gib = self.world.site.cpus.copy(), self.world.site.memory_gib.copy()
        for ask, seats in self._then(moment):
            for seat in seats:
                cpus[seat.node] -= len(seat.slots) * ask.cpus_per_gpu
                memory_gib[seat.node] -= len(seat.slots) * ask.memory_gib_per_gpu
        return cpus, memory_gib

    def _then(self, moment: float) -> list[tuple[Ask, tuple[Seat, ...]]]:
        asks, running = self.world.asks, self.world.running
        runs = [(asks[job], run.seats) for job, run in running.items() if run.ends_by > moment]
        return runs + [(asks[start.job], start.seats) for end, start in self._added if end > moment]
