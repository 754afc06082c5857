"""Which end brings enough back: of a team's quota, of what can be borrowed, and of free places."""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property
from math import inf, nextafter

import numpy as np
from numpy.typing import NDArray

from scheduler.core.about import about_minutes, stamp
from scheduler.core.board import Board
from scheduler.core.ladder import Wanted
from scheduler.core.model import Fact, Job, Moment, Running, Seat
from scheduler.core.moments import Bools, worth_a_look
from scheduler.core.table import Table
from scheduler.core.timeline import HORIZON_S, PROBES, planned_end

Floats = NDArray[np.float64]
SEARCHES = 16  # of each kind in one round: the first in line ask first
LOOKS = 4096  # ends that one search looks at
CELLS = 4_000_000  # GPUs that the searches for places may look at in one round, the first search aside
NO_END: dict[str, Fact] = {"no_end": 1}
Told = dict[str, Fact]
Enough = Generator[bool, Running, None]  # takes the ends one by one, and says when there is enough


class Ends:
    """The ends that limits promise and forecasts expect, in order. Each search is made once and is counted."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._searched = {"quota": 0, "loan": 0}
        self._cells = 0
        self._known: dict[tuple[object, ...], Told] = {}

    def quota(self, place: int, kind: str, gpus: int) -> Told:
        """Which end brings a level of the team tree so many GPUs of quota back."""

        def enough() -> Enough:
            lineage, freed = self._table.books.lineage, 0
            while freed < gpus:
                run = yield False
                freed += run.gpus if place in lineage.path(run.team) else 0
            yield True

        return self._search("quota", (place, kind, gpus), enough)

    def loan(self, job: Job, kind: str, gpus: int, *, returns: bool) -> Told:
        """Which end lets its team have so many more for such a job."""
        team, firm = job.team, not job.preemptible

        def enough() -> Enough:
            books = self._table.books.copy()
            while not books.standing(team, kind, gpus, returns=returns, firm=firm).starts:
                run = yield False
                books.gone(run)
            yield True

        return self._search("loan", (team, kind, gpus, returns, firm), enough)

    def place(self, wanted: Wanted) -> Told:
        """Which end makes room for it, if nobody takes it before: bookings aside, places only grow."""
        key = ("place", wanted)
        if key not in self._known:
            if self._cells > CELLS:
                return {}
            self._known[key] = self._room(wanted)
        return self._known[key]

    def promised(self, at: Moment, seats: tuple[Seat, ...]) -> Told:
        """Who on these seats ends when the last of them comes free."""
        wanted = _cells(seats)
        here = (job for job, _, held in self._ending(at) if not wanted.isdisjoint(_cells(held)))
        first = min(here, default=None)
        return {} if first is None else {"ends_job": first}

    def _search(self, what: str, key: tuple[object, ...], enough: Callable[[], Enough]) -> Told:
        """Runs of a GPU type (the second part of the key) end one after the other, until there is enough."""
        if (what, *key) not in self._known:
            self._searched[what] += 1
            if self._searched[what] > SEARCHES:
                return {}
            self._known[what, *key] = self._walk(str(key[1]), enough())
        return self._known[what, *key]

    def _walk(self, kind: str, enough: Enough) -> Told:
        runs, ends = self._runs
        certain = True
        next(enough)  # there is not enough now, or nobody would ask
        for number in self._in_turn[:LOOKS]:
            run = runs[number]
            if run.gpu_type == kind:
                certain = certain and (run.stopping or run.ends_by is not None)
                if enough.send(run):
                    return {"ends_job": run.job, **self._moment(float(ends[number]), certain=certain)}
        return NO_END if len(self._in_turn) <= LOOKS else {}

    def _moment(self, at: Moment, *, certain: bool) -> Told:
        wait_s = at - self._table.now
        return {"ends_by": stamp(at), "ends_in_min": about_minutes(wait_s), "certain": int(certain)}

    def _room(self, wanted: Wanted) -> Told:
        future = self._table.future

        def taken(at: Moment) -> tuple[Bools, Moment]:
            return future.taken([window for window in future.closed if window.meets(at, nextafter(at, inf))])

        def holds(free: Bools) -> bool:
            self._cells += future.comes.size
            return self._holds(wanted, free)

        for looks, at in enumerate(worth_a_look(self._moments, future.comes, holds, taken)):
            if looks >= PROBES:
                return {}
            if holds((future.comes <= at) & ~taken(at)[0]):
                return self._comes(wanted, at)
        return NO_END

    def _comes(self, wanted: Wanted, at: Moment) -> Told:
        """Where windows that are still ahead may leave too little time, nobody says that it comes for certain."""
        future = self._table.future
        here = min((job for job, kind, _ in self._ending(at) if kind in wanted.kinds), default=None)
        ahead, _ = future.taken([window for window in future.closed if window.ends > at])
        certain = at < future.forecast_from and self._holds(wanted, (future.comes <= at) & ~ahead)
        told = self._moment(at, certain=certain)
        return told if here is None else {"ends_job": here, **told}

    def _holds(self, wanted: Wanted, free: Bools) -> bool:
        board = Board(self._table.layout, free, self._table.burden)
        board.meter = self._table.board.meter
        return wanted.fits(board, self._table.policy)

    @cached_property
    def _moments(self) -> Floats:
        now, future = self._table.now, self._table.future
        ends = np.array([one.ends for one in future.closed])
        every = np.unique(np.concatenate((future.comes.ravel(), ends)))
        return every[(every >= now) & (every <= now + HORIZON_S)]

    @cached_property
    def _runs(self) -> tuple[list[Running], Floats]:
        """Everything that runs on, with its planned end; what this plan stops is counted as gone already."""
        table = self._table
        stopped = {stop.job for stop in table.stops}
        runs = [run for run in table.snap.running if run.job not in stopped]
        return runs, np.array([planned_end(run, table.now, table.policy) for run in runs], dtype=np.float64)

    @cached_property
    def _in_turn(self) -> list[int]:
        """The runs by their ends within the horizon."""
        runs, ends = self._runs
        order = np.lexsort((np.array([run.job for run in runs], dtype=np.int64), ends))
        within = int((ends <= self._table.now + HORIZON_S).sum())
        return [int(number) for number in order[:within]]

    def _ending(self, at: Moment) -> Iterator[tuple[int, str, tuple[Seat, ...]]]:
        """Who ends then: what runs on, and what starts now."""
        table, (runs, ends) = self._table, self._runs
        for number in np.flatnonzero(ends == at).tolist():
            yield runs[number].job, runs[number].gpu_type, runs[number].seats
        for start in table.starts:
            if table.now + table.lasts_s(table.waiting[start.job]) == at:
                yield start.job, table.kind_of(start.seats), start.seats


def _cells(seats: Iterable[Seat]) -> set[tuple[int, int]]:
    return {(seat.node, slot) for seat in seats for slot in seat.slots}
