"""What the charts need of a replay, gathered while its events go by, and bounded however long it is."""

from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scheduler.sim import events
from scheduler.sim.events import Place

T = TypeVar("T")
LARGEST = 600  # runs that the Gantt chart draws, and as many faults
BINS = 200  # points of a line over time


@dataclass(frozen=True, slots=True)
class Stay:
    """A run on its places, from then to then."""

    job: str
    run: int
    begin: float
    end: float
    places: tuple[Place, ...]

    @property
    def gpus(self) -> int:
        """How many GPUs it held."""
        return sum(len(place.gpus) for place in self.places)


@dataclass(frozen=True, slots=True)
class Out:
    """A node, or some of its GPUs, out of use from then to then."""

    node: str
    begin: float
    end: float
    gpus: tuple[int, ...] | None  # None = all of them


@dataclass(slots=True)
class Series:
    """How many GPUs were held when, by whom the most, and what was out of use."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    held: "array[float]" = field(default_factory=lambda: array("d"))  # from the time of the same place on
    stays: int = 0  # all there were
    node_gpu_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # held, by node
    _largest: list[tuple[float, int, Stay]] = field(default_factory=list)
    _here: dict[str, tuple[float, int, tuple[Place, ...]]] = field(default_factory=dict)  # by job that runs
    _holding: int = 0
    _longest: list[tuple[float, int, Out]] = field(default_factory=list)
    _down: dict[tuple[str, tuple[int, ...] | None], float] = field(default_factory=dict)  # since when
    _outs: int = 0

    def note(self, event: events.Event) -> None:
        """One more event."""
        if isinstance(event, events.Started):
            self._sit(event.t, event.job, event.run, event.seats)
        elif isinstance(event, events.Stopped | events.Finished):
            self._leave(event.t, event.job)
        elif isinstance(event, events.Swapped):
            kept = [place for place in self._leave(event.t, event.job) if place.node != event.out]
            self._sit(event.t, event.job, event.run, (*kept, event.into))
        elif isinstance(event, events.NodeChanged):
            self._change(event)

    def largest(self) -> list[Stay]:
        """The largest stays by GPU time, in the order of their beginning."""
        return sorted((stay for _, _, stay in self._largest), key=lambda stay: (stay.begin, stay.job))

    def outs(self, end: float) -> list[Out]:
        """What was out of use before this time, the longest of it, in the order of its beginning."""
        ended = [out for _, _, out in self._longest]
        going = [Out(node, begin, end, gpus) for (node, gpus), begin in self._down.items()]
        return sorted(
            (out for out in (*ended, *going) if out.begin < end), key=lambda out: (out.begin, out.node)
        )

    def use(
        self, begin: float, end: float, parts: int = BINS
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean number of GPUs held in each of equal parts of this time, and where the parts begin."""
        edges = np.linspace(begin, max(end, begin + 1.0), parts + 1)
        times, held = np.array([begin, *self.times]), np.array([0.0, *self.held])
        total = np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(times))])
        # The last value holds on, so the sum goes on past the last event.
        at = np.interp(edges, times, total) + np.maximum(0.0, edges - times[-1]) * held[-1]
        return edges[:-1], np.diff(at) / np.diff(edges)

    def _sit(self, now: float, job: str, run: int, places: tuple[Place, ...]) -> None:
        self._here[job] = (now, run, places)
        self._count(now, sum(len(place.gpus) for place in places))

    def _leave(self, now: float, job: str) -> tuple[Place, ...]:
        begin, run, places = self._here.pop(job)
        stay = Stay(job, run, begin, now, places)
        self.stays += 1
        self._count(now, -stay.gpus)
        for place in places:
            self.node_gpu_s[place.node] += len(place.gpus) * (now - begin)
        # The number breaks ties, so that the same replay keeps the same stays.
        _keep(self._largest, (stay.gpus * (now - begin), -self.stays, stay))
        return places

    def _change(self, event: events.NodeChanged) -> None:
        """Each word of the faults file opens what it names, or shuts all that is covered by it."""
        if event.state != "up":
            self._down.setdefault((event.node, event.gpus), event.t)
            return
        for node, gpus in [key for key in self._down if _covers(event, *key)]:
            self._outs += 1
            out = Out(node, self._down.pop((node, gpus)), event.t, gpus)
            _keep(self._longest, (out.end - out.begin, -self._outs, out))

    def _count(self, now: float, gpus: int) -> None:
        self._holding += gpus
        self.times.append(now)
        self.held.append(self._holding)


def _covers(event: events.NodeChanged, node: str, gpus: tuple[int, ...] | None) -> bool:
    return event.node == node and (event.gpus is None or (gpus is not None and set(gpus) <= set(event.gpus)))


def _keep(heap: list[tuple[float, int, T]], entry: tuple[float, int, T]) -> None:
    if len(heap) < LARGEST:
        heappush(heap, entry)
    else:
        heappushpop(heap, entry)
