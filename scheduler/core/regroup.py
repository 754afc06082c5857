"""Regrouping: what a team was promised is there, but in pieces, because others sit between.

Who may be stopped for a job often sits beside work that nobody may take: small pieces of it on many nodes. Then
those go whose GPUs the job may have, and the others move together into what they leave. Nobody loses what its
promise covers: everybody who moves goes on at once. This is what makes the bound of production hold where
stopping alone would find no whole node.
"""

from math import inf

from scheduler.core.candidates import Candidate, Chosen, Found
from scheduler.core.defrag import Tidied, consolidate
from scheduler.core.maystop import Case
from scheduler.core.model import Running
from scheduler.core.moving import ask_to_move
from scheduler.core.receipts import receipt
from scheduler.core.table import Table
from scheduler.core.tree import Depth
from scheduler.core.verbs import Stop
from scheduler.core.want import Want


def regroup(table: Table, case: Case, want: Want, found: Found) -> bool:
    """Whether stops and moves together make a place for this job; then they have been asked."""
    want = want.on(case.kind)
    gone = _enough(table, case, want, found)
    if gone is None:
        return False
    after = table.board.copy()
    for one in gone:
        after.give(one.run.seats, one.run.request)
    leaving = [one.run for one in gone]
    there = {run.job for run in leaving}
    staying = [run for run in table.standing_runs() if run.job not in there]
    rules = case.rules.after(leaving)
    moves = consolidate(after, want, staying, rules, wait_s=inf, most=rules.stops_left)
    if not isinstance(moves, Tidied) or table.pledges.broken(case.job, case.kind, case.gpus, leaving):
        return False
    _carry_out(table, case, gone, moves)
    return True


def _enough(table: Table, case: Case, want: Want, found: Found) -> list[Candidate] | None:
    """The cheapest who leave enough GPUs and quota, wherever they sit; nobody of them for nothing."""
    grounds = want.query(table.layout).grounds
    free = sum(int(table.board.tally(ground).free[Depth.NODE].sum()) for ground in grounds)
    short = want.size - free
    books, chosen, gone = case.rules.books.copy(), Chosen(case.rules), list[Candidate]()
    for one in sorted(found.candidates, key=lambda one: (one.cost / one.gpus, one.run.job)):
        if short <= 0 and case.may_start(books):
            break
        if chosen.admit_all((one,)):
            gone.append(one)
            books.gone(one.run)
            short -= one.gpus
    if short > 0 or not case.may_start(books):
        return None
    for one in sorted(gone, key=lambda one: (-one.cost, one.run.job)):
        books.stays(one.run)
        if short + one.gpus <= 0 and case.may_start(books):
            gone.remove(one)
            short += one.gpus
        else:
            books.gone(one.run)
    return gone


def _carry_out(table: Table, case: Case, gone: list[Candidate], moves: Tidied) -> None:
    leaving: list[Running] = []
    for one in gone:
        table.stop(one.run, Stop(one.run.job, one.why, case.job.id, receipt(one, case)))
        leaving.append(one.run)
    ask_to_move(table, case.job, moves, leaving)
