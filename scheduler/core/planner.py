"""The policy, read top to bottom: one round over the queue, from a snapshot to a plan."""

from collections.abc import Iterable, Iterator

import numpy as np

from scheduler.core.board import Board
from scheduler.core.model import Job, Plan, Seat, Snapshot, Start, Verdict
from scheduler.core.order import Line, first_come
from scheduler.core.place import seat_gang
from scheduler.core.quota import Books
from scheduler.core.reasons import Reason
from scheduler.core.tree import trees
from scheduler.core.why import Inquiry


def plan(snap: Snapshot) -> Plan:
    """Who starts now and where, and for everybody else why not."""
    queue, layout = first_come(snap.waiting), trees(snap.nodes)
    free = snap.free & np.array([node.usable for node in snap.nodes], dtype=bool)[:, None]
    board, back = Board(layout, free), Board(layout, snap.free)
    books = Books(snap.teams, snap.running)
    inquiry = Inquiry(snap, layout, Board(layout, free), books)
    if inquiry.down:  # the same round once more, as if all nodes were back
        inquiry.helped = _starters(queue, back, Books(snap.teams, snap.running))
    line, starts, verdicts = Line(), list[Start](), list[Verdict]()
    for job, kind, seats in _round(queue, board, books):
        if seats:
            starts.append(Start(job.id, job.version, seats))
            line.start(job, kind)
            continue
        jobs, gpus = line.ahead(job)
        reason, numbers = inquiry.why(job, took=line.took, ahead=jobs)
        verdicts.append(Verdict(job.id, job.version, reason, numbers, jobs, gpus))
        if reason is not Reason.IMPOSSIBLE:  # what never runs is in nobody's way
            line.wait(job)
    return Plan(tuple(starts), tuple(verdicts), board.steps + back.steps + inquiry.steps)


def _starters(queue: Iterable[Job], board: Board, books: Books) -> frozenset[int]:
    return frozenset(job.id for job, _, seats in _round(queue, board, books) if seats)


def _round(queue: Iterable[Job], board: Board, books: Books) -> Iterator[tuple[Job, str, tuple[Seat, ...]]]:
    """Each job in order takes its seats or leaves the board as it was; nobody holds places for later."""
    for job in queue:
        for kind in (job.gpu_type,) if job.gpu_type else board.tallies:
            if books.reached(job.team, kind, job.gpus) is None and (seats := seat_gang(job, kind, board)):
                board.take(kind, seats)
                books.take(job.team, kind, job.gpus)
                yield job, kind, seats
                break
        else:
            yield job, "", ()
