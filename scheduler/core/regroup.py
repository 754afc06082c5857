"""Regrouping: what a team was promised is there, but in pieces, because others sit between.

Who may be stopped for a job often sits beside work that nobody may take: small pieces of it on many nodes. Then
those go whose GPUs the job may have, and the others move together into what they leave. Nobody loses what its
promise covers: everybody who moves goes on at once. This is what makes the bound of production hold where
stopping alone would find no whole node.
"""

from functools import cache
from math import inf

from scheduler.core.beside import ground_for, home_of
from scheduler.core.board import Board
from scheduler.core.candidates import Candidate, Chosen, Found
from scheduler.core.defrag import Floor, Tidied, consolidate
from scheduler.core.maystop import Case
from scheduler.core.model import Running
from scheduler.core.moving import ask_to_move
from scheduler.core.receipts import receipt
from scheduler.core.risk import binding
from scheduler.core.table import Table
from scheduler.core.tree import Depth
from scheduler.core.verbs import Stop
from scheduler.core.want import Want


def regroup(table: Table, case: Case, want: Want, found: Found) -> bool:
    """Whether stops and moves together make a place for this job; then they have been asked."""
    want = want.on(case.kind)
    ground = ground_for(table, case.job)
    gone = _enough(ground, case, want, found)
    if gone is None:
        return False

    @cache
    def emptied(board: Board) -> Board:
        after = board.copy()
        for one in gone:
            after.give(one.run.seats, one.run.request)
        return after

    leaving = [one.run for one in gone]
    there = {run.job for run in leaving}
    staying = [run for run in table.standing_runs() if run.job not in there]
    rules = case.rules.after(leaving)
    bound = binding(table, case.job)
    floor = Floor(emptied(ground), lambda run: emptied(home_of(table, bound, run)))
    moves = consolidate(floor, want, staying, rules, wait_s=inf, most=rules.stops_left)
    if not isinstance(moves, Tidied) or table.pledges.broken(case.job, case.kind, case.gpus, leaving):
        return False
    _carry_out(table, case, gone, moves)
    return True


def _enough(board: Board, case: Case, want: Want, found: Found) -> list[Candidate] | None:
    """The cheapest who leave enough GPUs and quota, wherever they sit; nobody of them for nothing."""
    grounds = want.query(board.layout).grounds
    free = sum(int(board.tally(ground).free[Depth.NODE].sum()) for ground in grounds)
    short = want.size - free
    books, chosen, gone = case.rules.books.copy(), Chosen(case.rules), list[Candidate]()
    for one in sorted(found.candidates, key=lambda one: (one.cost / one.gpus, one.run.job)):
        if short <= 0 and case.may_start(books):
            break
        useful = _leaves(one, board)
        if (useful or not case.may_start(books)) and chosen.admit_all((one,)):
            gone.append(one)
            books.gone(one.run)
            short -= useful
    if short > 0 or not case.may_start(books):
        return None
    for one in sorted(gone, key=lambda one: (-one.cost, one.run.job)):
        books.stays(one.run)
        useful = _leaves(one, board)
        if short + useful <= 0 and case.may_start(books):
            gone.remove(one)
            short += useful
        else:
            books.gone(one.run)
    return gone


def _leaves(one: Candidate, board: Board) -> int:
    """How many GPUs it leaves that somebody may use there."""
    row = board.layout.row
    here = [seat for seat in one.run.seats if seat.node in row]
    return sum(int(board.works[row[seat.node], list(seat.slots)].sum()) for seat in here)


def _carry_out(table: Table, case: Case, gone: list[Candidate], moves: Tidied) -> None:
    leaving: list[Running] = []
    for one in gone:
        table.stop(one.run, Stop(one.run.job, one.why, case.job.id, receipt(one, case)))
        leaving.append(one.run)
    ask_to_move(table, case.job, moves, leaving)
