"""Which GPU is held by which run, which are well, and which are free: kept up to date in place."""

from math import inf

import numpy as np

from scheduler.core.model import Seat
from scheduler.sim.site import Bools, Floats, Ints, Site
from scheduler.sim.workload import Ask

NOBODY = -1


class Floor:
    """Matrices of [row, slot]. Thinkers read them and never write."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.down: Bools = np.zeros_like(site.exists)
        self.drained: Bools = np.zeros_like(site.exists)
        self.closed: Bools = ~site.exists  # down, drained or not there: nothing new starts on it
        self.free: Bools = site.exists.copy()  # exists, well, not drained, held by nobody
        self.owner: Ints = np.full(site.exists.shape, NOBODY, dtype=np.int64)
        # When a held GPU comes free by the limit of its run: infinite without one, long ago where nobody holds it.
        self.until: Floats = np.where(site.exists, -inf, inf)
        self.spare: Ints = site.size.copy()  # free GPUs of each row
        self.cpus: Floats = site.cpus.copy()
        self.memory_gib: Floats = site.memory_gib.copy()
        self.held = 0
        self.rises = 0  # goes up whenever something comes free: what did not fit before may fit now
        self.changes = 0  # goes up with every fault and repair

    @property
    def idle(self) -> int:
        """How many GPUs are free, in the whole cluster."""
        return int(self.spare.sum())

    def take(self, seats: tuple[Seat, ...], cells: Ints, job: int, ask: Ask) -> None:
        """Give these GPUs to the run of a job."""
        self.free.ravel()[cells] = False
        self.owner.ravel()[cells] = job
        self.until.ravel()[cells] = inf
        self.held += len(cells)
        self._count(seats, ask, -1)

    def leave(self, seats: tuple[Seat, ...], cells: Ints, ask: Ask) -> None:
        """Take them back; they are free again where they are well."""
        self.owner.ravel()[cells] = NOBODY
        self.until.ravel()[cells] = -inf
        self.free.ravel()[cells] = ~self.closed.ravel()[cells]
        self.held -= len(cells)
        self._count(seats, ask, +1)
        self.rises += 1

    def plan(self, cells: Ints, until: float) -> None:
        """By its limit the run on these GPUs ends then."""
        self.until.ravel()[cells] = until

    def change(self, row: int, event: str, gpus: tuple[int, ...] | None) -> Ints:
        """A node, or some of its GPUs, goes down, comes up or drains; returns the jobs that this hits."""
        self.changes += 1
        slots = np.arange(self.site.size[row]) if gpus is None else np.array(gpus, dtype=np.int64)
        hit: Ints = np.array([], dtype=np.int64)
        match event:
            case "down":
                self.down[row, slots] = True
                owners = self.owner[row, slots]
                hit = np.unique(owners[owners != NOBODY])
            case "drain":
                self.drained[row, slots] = True
            case _:
                self.down[row, slots] = self.drained[row, slots] = False
                self.rises += 1
        self.closed[row] = ~self.site.exists[row] | self.down[row] | self.drained[row]
        self.free[row] = ~self.closed[row] & (self.owner[row] == NOBODY)
        self.spare[row] = self.free[row].sum()
        return hit

    def _count(self, seats: tuple[Seat, ...], ask: Ask, sign: int) -> None:
        rows = [seat.node for seat in seats]
        self.spare[rows] = self.free[rows].sum(axis=1)
        if ask.cpus_per_gpu or ask.memory_gib_per_gpu:
            gpus = np.array([len(seat.slots) for seat in seats])
            self.cpus[rows] += sign * gpus * ask.cpus_per_gpu
            self.memory_gib[rows] += sign * gpus * ask.memory_gib_per_gpu
