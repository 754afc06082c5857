"""What is free when: the ends of what runs, by limits or forecasts, and what is booked from when to when."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.core.board import Board, Placement
from scheduler.core.burden import Burden
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Moment, Running, Seat, Snapshot
from scheduler.core.moments import Bools, worth_a_look
from scheduler.core.policy import DAY, Policy

HORIZON_S = 30 * DAY  # a date further ahead is worthless
PROBES = 24  # moments at which one search looks for a place


def planned_end(run: Running, now: Moment, policy: Policy) -> Moment:
    """When a run is gone: asked to go, by its limit, by its forecast, or nobody knows."""
    if run.stopping:
        return max(now, (now if run.asked_at is None else run.asked_at) + policy.grace_s)
    if run.ends_by is not None:
        return max(now, run.ends_by)
    return inf if run.expected_end is None else max(now, run.expected_end)


class Cells(NamedTuple):
    """GPUs as rows and columns of the snapshot's matrix."""

    rows: NDArray[np.int64]
    slots: NDArray[np.int64]


def cells(seats: Sequence[Seat], layout: Layout) -> Cells:
    """Where these seats stand in the matrix."""
    rows = np.array([layout.row[seat.node] for seat in seats], dtype=np.int64)
    slots = np.array([slot for seat in seats for slot in seat.slots], dtype=np.int64)
    return Cells(np.repeat(rows, [len(seat.slots) for seat in seats]), slots)


@dataclass(frozen=True, slots=True, eq=False)
class Booking:
    """GPUs that somebody has from one moment to another: a promise, or a maintenance window."""

    begins: Moment
    ends: Moment
    cells: Cells

    def meets(self, at: Moment, until: Moment) -> bool:
        """Whether it takes its GPUs at any time between these."""
        return self.begins < until and self.ends > at


class Slot(NamedTuple):
    """The earliest place found: when, where, and whether limits alone say so."""

    at: Moment
    placement: Placement
    certain: bool


class Future:
    """When each GPU comes free at the latest, as far as anybody knows."""

    def __init__(self, snap: Snapshot, layout: Layout) -> None:
        self.now, self.policy, self.layout = snap.taken_at, snap.policy, layout
        free = snap.free[:, : layout.works.shape[1]]
        self.comes: NDArray[np.float64] = np.where(layout.works & free, self.now, inf)
        self.bookings: dict[int, Booking] = {}  # by job
        self.closed = [self._window(snap, number) for number in range(len(snap.windows))]
        self.ran_out: set[int] = set()  # jobs whose search ended without an answer
        self.forecast_from = inf  # from here on a moment rests on a forecast
        self._occupy(snap.running)

    def book(self, job: int, begins: Moment, ends: Moment, seats: Sequence[Seat]) -> Booking:
        """From now on this place is taken in that time."""
        self.bookings[job] = Booking(begins, ends, cells(seats, self.layout))
        return self.bookings[job]

    def occupy(self, seats: Sequence[Seat], until: Moment) -> None:
        """A start of this plan holds its seats until then."""
        self.comes[cells(seats, self.layout)] = until

    def if_called(self, runs: Iterable[tuple[Running, Moment]]) -> "Future":
        """The same where these runs are gone by those moments; nobody knows it for certain."""
        twin = copy(self)
        twin.comes = self.comes.copy()
        for run, gone in runs:
            taken = cells([seat for seat in run.seats if self._known(seat.node)], self.layout)
            twin.comes[taken] = np.where(self.layout.works[taken], gone, inf)
            twin.forecast_from = min(twin.forecast_from, gone)
        return twin

    def clashes(self, seats: Sequence[Seat], until: Moment) -> list[int]:
        """Jobs whose booked places these seats would still hold when their time comes."""
        wanted = np.zeros(self.comes.shape, dtype=np.bool_)
        wanted[cells(seats, self.layout)] = True
        return [job for job, at in self.bookings.items() if at.begins < until and wanted[at.cells].any()]

    def shut(self, until: Moment) -> list[Booking]:
        """Windows that begin before then."""
        return [window for window in self.closed if window.begins < until and window.ends > self.now]

    def keeps(self, seats: Sequence[Seat], at: Moment) -> bool:
        """Whether these seats are all free at that moment, bookings aside."""
        return bool((self.comes[cells(seats, self.layout)] <= at).all())

    def is_open(self, seats: Sequence[Seat], at: Moment, until: Moment) -> bool:
        """Whether these seats work, and no window falls into that time, whoever holds them."""
        wanted = np.zeros(self.comes.shape, dtype=np.bool_)
        wanted[cells(seats, self.layout)] = True
        closed = (one for one in self.closed if one.meets(at, until))
        return bool(self.layout.works[wanted].all()) and not any(wanted[one.cells].any() for one in closed)

    def free(self, at: Moment, until: Moment, *, but: int = 0) -> Bools:
        """What is free all the time from one moment to another; `but` one job's own booking."""
        taken, _ = self.taken(self._booked(at, until, but=but))
        return (self.comes <= at) & ~taken

    def earliest(self, job: Job, lasts_s: float, burden: Burden | None = None) -> Slot | None:
        """The first moment at which the job has a place for as long as it may last."""

        def taken(at: Moment) -> tuple[Bools, Moment]:
            return self.taken(self._booked(at, at + lasts_s, but=job.id))

        def holds(free: Bools) -> bool:
            return Board(self.layout, free, burden).holds(job.request, tier=job.tier, policy=self.policy)

        for looks, at in enumerate(worth_a_look(self._moments(), self.comes, holds, taken)):
            if looks >= PROBES:
                self.ran_out.add(job.id)
                break
            board = Board(self.layout, self.free(at, at + lasts_s, but=job.id), burden)
            placement = board.place(job.request, tier=job.tier, policy=self.policy)
            if placement is not None:
                return Slot(at, placement, at < self.forecast_from)
        return None

    def taken(self, booked: Sequence[Booking]) -> tuple[Bools, Moment]:
        """All that these take, and when the first of them ends."""
        taken = np.zeros(self.comes.shape, dtype=np.bool_)
        for one in booked:
            taken[one.cells] = True
        return taken, min((one.ends for one in booked), default=inf)

    def _booked(self, at: Moment, until: Moment, *, but: int) -> list[Booking]:
        others = (one for job, one in self.bookings.items() if job != but)
        return [one for one in (*others, *self.closed) if one.meets(at, until)]

    def _moments(self) -> NDArray[np.float64]:
        """Now, and whenever something comes free within the horizon."""
        ends = [booked.ends for booked in (*self.bookings.values(), *self.closed)]
        every = np.unique(np.concatenate((self.comes.ravel(), np.array([self.now, *ends]))))
        return every[(every >= self.now) & (every <= self.now + HORIZON_S)]

    def _occupy(self, running: Sequence[Running]) -> None:
        """All runs at once: thousands of small writes would cost more than everything else here."""
        seats: list[Seat] = []
        ends: list[Moment] = []
        for run in running:
            end = planned_end(run, self.now, self.policy)
            if not run.stopping and run.ends_by is None:
                self.forecast_from = min(self.forecast_from, end)
            here = [seat for seat in run.seats if self._known(seat.node)]
            seats += here
            ends += [end] * sum(len(seat.slots) for seat in here)
        taken = cells(seats, self.layout)
        self.comes[taken] = np.where(self.layout.works[taken], ends, inf)

    def _known(self, node: int) -> bool:
        row = self.layout.row.get(node)
        return row is not None and self.layout.position[row] >= 0

    def _window(self, snap: Snapshot, number: int) -> Booking:
        window = snap.windows[number]
        rows = [self.layout.row[node] for node in sorted(window.nodes) if node in self.layout.row]
        mask = np.zeros(self.comes.shape, dtype=np.bool_)
        mask[rows] = True
        found = np.nonzero(mask)
        return Booking(window.begins, window.ends, Cells(found[0], found[1]))
