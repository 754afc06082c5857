"""What is free, and what closes it: a board, and the places on it that go to others one after the other."""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.core.board import Board, Placement
from scheduler.core.model import Job, Moment, Request, Running, Seat, Tier
from scheduler.core.policy import Policy
from scheduler.core.table import Table


class Wanted(NamedTuple):
    """A place as some jobs want it: the same answer for all of them."""

    request: Request  # narrowed to the types
    kinds: tuple[str, ...]  # GPU types that would do and that quota allows now
    gpus: int
    tier: Tier  # production, or any other
    relaxed: bool  # if it only preferred its level, that would bind no more

    def fits(self, board: Board, policy: Policy) -> bool:
        """Whether there is such a place on this board."""
        return board.holds(self.request, tier=self.tier, policy=policy, gpus=self.gpus, relaxed=self.relaxed)

    def place(self, board: Board, policy: Policy) -> Placement | None:
        """The place itself."""
        return board.place(self.request, tier=self.tier, policy=policy, gpus=self.gpus, relaxed=self.relaxed)


class Closure(NamedTuple):
    """From this moment on these places are for somebody else."""

    begins: Moment
    what: str  # "claim", "window" or "promise"
    number: int  # the job, or the place of the window among the snapshot's
    seats: tuple[Seat, ...]
    needs: Request | None = (
        None  # CPUs, memory and scratch that go with them, where somebody sits there at once
    )


class Ladder:
    """Rung 0 is the board itself; each further rung is without one closure more."""

    def __init__(self, board: Board, closures: Sequence[Closure]) -> None:
        self._closures = closures
        self._rungs = [board]

    def blocker(self, wanted: Wanted, policy: Policy) -> Closure | None:
        """The first closure that leaves no such place, though there was one before; None = there still is one."""
        low, high = 0, len(self._closures)
        if wanted.fits(self._rung(high), policy):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if wanted.fits(self._rung(middle), policy):
                low = middle
            else:
                high = middle
        return self._closures[low]

    def _rung(self, number: int) -> Board:
        while len(self._rungs) <= number:
            board = self._rungs[-1].copy()
            closure = self._closures[len(self._rungs) - 1]
            board.take(closure.seats, closure.needs)
            self._rungs.append(board)
        return self._rungs[number]


def beside_starts(table: Table) -> Board:
    """The board with what claims keep of free places."""
    board = table.board.copy()
    rows, free = table.layout.row, table.snap.free
    for claim in table.claims.values():
        owner = _owner(table, claim.job)
        idle = [
            Seat(seat.node, tuple(slot for slot in seat.slots if free[rows[seat.node], slot]))
            for seat in claim.seats
        ]
        board.give(idle, owner.request, firm=not owner.preemptible)
    return board


def claimed(table: Table) -> list[Closure]:
    """Places that are being made."""
    return [
        Closure(table.now, "claim", claim.job, claim.seats, _owner(table, claim.job).request)
        for claim in table.claims.values()
    ]


def _owner(table: Table, job: int) -> Job | Running:
    """Who moves still runs."""
    return table.waiting.get(job) or table.running[job]


def planned(table: Table, bound: frozenset[int], until: Moment) -> list[Closure]:
    """Maintenance that begins before then, and these promises: in the order of time."""
    slots = tuple(range(table.board.free.shape[1]))
    windows = (
        Closure(
            window.begins,
            "window",
            number,
            tuple(Seat(node, slots) for node in sorted(window.nodes & table.layout.row.keys())),
        )
        for number, window in enumerate(table.snap.windows)
        if window.begins < until
    )
    promises = (table.promises[number] for number in bound)
    booked = (Closure(promise.at, "promise", promise.job, promise.seats) for promise in promises)
    return sorted((*windows, *booked))
