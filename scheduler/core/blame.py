"""Who would start if the nodes that are out of service were back: no more jobs than those would hold."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from scheduler.core.board import Board, Placement
from scheduler.core.ladder import Wanted, planned
from scheduler.core.model import Job, Moment, Seat
from scheduler.core.possible import Possible
from scheduler.core.table import Table

STATES = ("drained", "silent", "lost")


def down_nodes(table: Table) -> dict[str, Counter[str]]:
    """By type: how many nodes are out for which reason, among those that would bring free GPUs back."""
    down: dict[str, Counter[str]] = {}
    for row, node in enumerate(table.layout.nodes):
        if not node.usable and table.layout.position[row] >= 0 and table.snap.free[row].any():
            state = node.why_not if node.why_not in STATES else "down"
            down.setdefault(node.gpu_type, Counter())[state] += 1
    return down


class Asked(NamedTuple):
    """A place that a job wants, and what is closed to it."""

    wanted: Wanted
    bound: frozenset[int]  # the promises in whose way it must not start
    until: Moment  # windows that begin before then


Ask = Callable[[Job, int], Asked | None]


class Blame:
    """One walk down the line, on the board as it would be with all nodes back and everything else as planned."""

    def __init__(self, table: Table, possible: Possible) -> None:
        self._table, self._possible = table, possible
        self._books = table.books.copy()
        self._bare = _mended(table)
        self._boards: dict[tuple[frozenset[int], tuple[int, ...]], Board] = {}
        self._taken: list[tuple[Job, tuple[Seat, ...]]] = []
        self._hopeless: set[tuple[object, ...]] = set()

    def walk(self, line: Iterable[Job], kinds: Iterable[int], ask: Ask) -> frozenset[int]:
        """Those who have no place now and would have one; each takes it from those behind.

        Who is not helped leaves no hope for those of its kind: places only grow fewer on the way.
        """
        helped, hopeless = set[int](), set[int]()
        for job, kind in zip(line, kinds, strict=True):
            if kind in hopeless:
                continue
            if self._helped(job, ask(job, kind)):
                helped.add(job.id)
            else:
                hopeless.add(kind)
        return frozenset(helped)

    def _helped(self, job: Job, asked: Asked | None) -> bool:
        if asked is None or asked in self._hopeless or (asked.wanted, job.team) in self._hopeless:
            return False
        wanted, bound, until = asked
        if wanted.fits(self._table.clear_of(bound, until), self._table.policy):
            self._hopeless.add(asked)
            return False
        placement = wanted.place(self._board(bound, until), self._table.policy)
        if placement is None:
            self._hopeless.add(asked)
            return False
        returns, firm = self._possible.returns(job), not job.preemptible
        standing = self._books.standing(job.team, placement.kind, wanted.gpus, returns=returns, firm=firm)
        if not standing.starts:
            self._hopeless.add((wanted, job.team))
            return False
        self._take(job, placement, wanted.gpus)
        return True

    def _board(self, bound: frozenset[int], until: Moment) -> Board:
        closures = planned(self._table, bound, until)
        key = (bound, tuple(closure.number for closure in closures if closure.what == "window"))
        if key not in self._boards:
            board = self._boards[key] = self._bare.copy()
            for closure in closures:
                board.take(closure.seats)
            for job, seats in self._taken:
                board.take(seats, job.request, firm=not job.preemptible)
        return self._boards[key]

    def _take(self, job: Job, placement: Placement, gpus: int) -> None:
        self._taken.append((job, placement.seats))
        self._books.take(job.team, placement.kind, gpus, returns=self._possible.returns(job))
        for board in self._boards.values():
            board.take(placement.seats, job.request, firm=not job.preemptible)


def _mended(table: Table) -> Board:
    """The same board with what is free on nodes that are out of service."""
    beside = table.board
    back = table.snap.free[:, : beside.free.shape[1]] & ~table.layout.works
    board = Board(table.layout, beside.free | back, beside.burden, mended=True)
    board.meter = beside.meter
    return board
