"""Scratch paper of the plain policies: what is free, now or at a planned end, while a plan is being made."""

from typing import Self

import numpy as np

from scheduler.core.model import Seat
from scheduler.sim.site import Bools, Floats, Ints, Site
from scheduler.sim.work import SLACK
from scheduler.sim.workload import Ask
from scheduler.sim.world import World


class Scratch:
    """A copy of the floor that may be written on; undoing is dropping it."""

    def __init__(self, site: Site, free: Bools, cpus: Floats, memory_gib: Floats) -> None:
        self.site = site
        self.free = free
        self.spare: Ints = free.sum(axis=1)
        self.cpus = cpus
        self.memory_gib = memory_gib

    @classmethod
    def of_now(cls, world: World) -> Self:
        """What is free now."""
        floor = world.floor
        return cls(world.site, floor.free.copy(), floor.cpus.copy(), floor.memory_gib.copy())

    @classmethod
    def of_empty(cls, site: Site) -> Self:
        """As if every machine were well and nothing ran."""
        return cls(site, site.exists.copy(), site.cpus.copy(), site.memory_gib.copy())

    def copy(self) -> "Scratch":
        """Another sheet with the same on it."""
        return Scratch(self.site, self.free.copy(), self.cpus.copy(), self.memory_gib.copy())

    def room(self, ask: Ask) -> Ints:
        """How many GPUs of each row the job could use: whole tensor-parallel groups, with CPUs and memory."""
        room = self.spare if ask.tp == 1 else self._groups(ask.tp)
        for left, each in ((self.cpus, ask.cpus_per_gpu), (self.memory_gib, ask.memory_gib_per_gpu)):
            if each:
                most = np.minimum(np.floor(left / each + SLACK), self.site.width).astype(np.int64)
                room = np.minimum(room, most // ask.tp * ask.tp)
        return room

    def seat(self, row: int, gpus: int, tp: int) -> Seat:
        """The lowest GPUs of a row that make whole groups."""
        slots = np.flatnonzero(self.free[row])
        if tp > 1:
            domains = self.site.nvlink[row, slots]
            slots = np.concatenate([_whole(slots[domains == domain], tp) for domain in np.unique(domains)])
        return Seat(row, tuple(slots[:gpus].tolist()))

    def take(self, seats: tuple[Seat, ...], ask: Ask) -> None:
        """Give these seats away."""
        for seat in seats:
            self.free[seat.node, list(seat.slots)] = False
            self.spare[seat.node] -= len(seat.slots)
            self.cpus[seat.node] -= len(seat.slots) * ask.cpus_per_gpu
            self.memory_gib[seat.node] -= len(seat.slots) * ask.memory_gib_per_gpu

    def _groups(self, tp: int) -> Ints:
        """Free GPUs in whole groups: counted in each NVLink domain by itself."""
        room = np.zeros_like(self.spare)
        for domain in range(int(self.site.nvlink.max(initial=0)) + 1):
            room += (self.free & (self.site.nvlink == domain)).sum(axis=1) // tp * tp
        return room


def _whole(slots: Ints, tp: int) -> Ints:
    return slots[: len(slots) // tp * tp]
