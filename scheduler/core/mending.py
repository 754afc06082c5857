"""Gangs that lost a place: only what is lost is replaced, or the job starts again."""

from collections.abc import Sequence

from scheduler.core import swap
from scheduler.core.beside import ends
from scheduler.core.model import Running, Seat
from scheduler.core.table import Table


def mend(table: Table) -> None:
    """Replace lost seats, but not with what is kept for a job whose place is being made."""
    if not table.snap.lost:
        return
    board = table.board.copy()
    for claim in table.snap.claims:
        owner = table.waiting.get(claim.job) or table.running.get(claim.job)
        if owner is not None:
            board.expect(claim.seats, owner.request)

    def shut(run: Running) -> Sequence[Seat]:
        return table.boards.shut(ends(table, run))

    mended = swap.mend(board, table.snap.lost, table.running, table.policy, shut=shut)
    for one in mended.swaps:
        run = table.running[one.job]
        table.boards.take((one.into,), run.request, firm=not run.preemptible)
    table.swaps += mended.swaps
    table.restarts += mended.restarts
