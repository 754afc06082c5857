"""Asking runs to move: each is told where it goes on, and its new place is kept until it is there."""

from collections.abc import Iterable

from scheduler.core.defrag import Move, Tidied
from scheduler.core.model import Claim, Job, Running
from scheduler.core.receipts import moved
from scheduler.core.table import Fit, Table
from scheduler.core.verbs import Stop, Why


def ask_to_move(table: Table, job: Job, found: Tidied, leaving: Iterable[Running] = ()) -> None:
    """Make the place for this job; `leaving` are those who go for it besides, and may sit where others go on."""
    asked = tuple(run.job for run in leaving)
    gpus = sum(len(seat.slots) for seat in found.placement.seats)
    for move in found.moves:
        run = move.one.run
        table.stop(run, Stop(run.job, Why.MOVED, job.id, moved(move, found, table.now)))
    movers = (move.one.run.job for move in found.moves)
    table.claim(job, Fit(found.placement, gpus), (*asked, *movers), table.now)
    for move in found.moves:
        _keep_place(table, move)


def _keep_place(table: Table, move: Move) -> None:
    """Its new place is kept for who moves, and the rules count it there already."""
    run = move.one.run
    table.keep(Claim(run.job, move.into.seats, (run.job,), table.now))
    table.rules.started(run, move.into.kind, move.one.gpus, coming=True)
