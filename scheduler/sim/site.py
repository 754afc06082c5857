"""The machines of a replay as columns: what never changes while it runs."""

from functools import cached_property
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Seat
from scheduler.sim.events import Place
from scheduler.sim.workload import Ask, Cluster, Machine

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


class Site:
    """One row for each machine, in the order of their names: the lowest name is the lowest row."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.machines = tuple(sorted(cluster.machines, key=lambda machine: machine.name))
        self.names = tuple(machine.name for machine in self.machines)
        self.row_of = {name: row for row, name in enumerate(self.names)}
        self.size: Ints = np.array([machine.gpus for machine in self.machines], dtype=np.int64)
        self.width = max((machine.gpus for machine in self.machines), default=0)
        self.total = int(self.size.sum())
        self.exists: Bools = np.arange(self.width) < self.size[:, None]
        self.cpus: Floats = np.array([_or_unlimited(machine.cpus) for machine in self.machines])
        self.memory_gib: Floats = np.array([_or_unlimited(machine.memory_gib) for machine in self.machines])
        self.spot: Bools = np.array([machine.spot for machine in self.machines], dtype=np.bool_)
        self.types = tuple(machine.gpu_type for machine in self.machines)
        self._allowed: dict[object, Bools] = {}

    @cached_property
    def domains(self) -> dict[str, Ints]:
        """For each level the number of the domain that a row stands in, numbered in the order of rows."""
        racks = [(m.block, m.rack) if m.rack else ("", "") for m in self.machines]
        return {
            "node": np.arange(len(self.machines), dtype=np.int64),
            "rack": _numbered(racks),
            "block": _numbered([(m.block, "") for m in self.machines]),
        }

    @cached_property
    def nvlink(self) -> Ints:
        """[row, slot]: the NVLink domain of a GPU inside its machine; -1 where there is no GPU."""
        reach = np.array([machine.nvlink_domain for machine in self.machines], dtype=np.int64)
        return np.where(self.exists, np.arange(self.width) // reach[:, None], -1)

    def allowed(self, ask: Ask) -> Bools:
        """The rows whose pool, type, GPU memory and features the job accepts."""
        key = (ask.pool, ask.gpu_types, ask.gpu_memory_gib, ask.features)
        if key not in self._allowed:
            self._allowed[key] = np.array(
                [_accepts(ask, machine) for machine in self.machines], dtype=np.bool_
            )
        return self._allowed[key]

    def place(self, seat: Seat) -> Place:
        """A seat by the names that the events file uses."""
        return Place(self.names[seat.node], seat.slots)

    def cells(self, seats: tuple[Seat, ...]) -> Ints:
        """The GPUs of these seats as positions in a [row, slot] matrix laid out flat."""
        width = self.width
        return np.array([seat.node * width + slot for seat in seats for slot in seat.slots], dtype=np.int64)


def _accepts(ask: Ask, machine: Machine) -> bool:
    # A machine that does not say how much memory its GPUs have is taken at the job's word, as in the core.
    memory = _or_unlimited(machine.gpu_memory_gib)
    named = ask.pool in ("", machine.pool) and (not ask.gpu_types or machine.gpu_type in ask.gpu_types)
    return named and memory >= ask.gpu_memory_gib and ask.features <= machine.features


def _or_unlimited(amount: float | None) -> float:
    return inf if amount is None else amount


def _numbered(paths: list[tuple[str, str]]) -> Ints:
    seen: dict[tuple[str, str], int] = {}
    return np.array([seen.setdefault(path, len(seen)) for path in paths], dtype=np.int64)
