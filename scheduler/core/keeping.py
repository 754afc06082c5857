"""Places that are being made: kept for the job they are made for, which starts the moment all of it is free."""

from scheduler.core.beside import lasts_again_s
from scheduler.core.board import Placement
from scheduler.core.model import Claim, Job, Moment
from scheduler.core.possible import Possible
from scheduler.core.table import Fit, Table


def keep_places(table: Table) -> None:
    """Start who has a whole place now; keep what is there for the others; forget what will never come."""
    possible = Possible(table.layout, table.books, table.policy)
    for claim in sorted(table.snap.claims, key=lambda claim: (claim.since, claim.job)):
        job = table.waiting.get(claim.job)
        if job is None:
            _keep_for_mover(table, claim)
            continue
        # A person may have changed the quota since its victims were asked; who moves keeps what it had.
        if job.gate is not None or not (_moves(claim) or possible.obstacle(job) is None):
            continue
        if table.boards.closes(claim.seats, table.now + table.lasts_s(job)):
            continue  # maintenance was announced since
        fit = _fit(table, claim)
        allowed = _moves(claim) or _allowed(table, job, fit)
        if allowed and _all_free(table, claim):
            # A gang that lost a node may have taken the memory that was meant for it.
            if table.board.supplies(claim.seats, job.request):
                table.start(job, fit)
        elif (allowed or _allowed_then(table, job, fit)) and _coming(table, claim):
            table.claim(job, fit, claim.victims, claim.since)


def _keep_for_mover(table: Table, claim: Claim) -> None:
    """A run that moves has a place to go on before it has stopped; its quota is counted where it still runs."""
    run = table.running.get(claim.job)
    if run is None or table.boards.closes(claim.seats, table.now + lasts_again_s(run)):
        return
    if run.stopping and _coming(table, claim):
        table.keep(claim)


def _moves(claim: Claim) -> bool:
    """Whether it is the new place of who moves: what it has been holding is still its own."""
    return claim.job in claim.victims


def _allowed(table: Table, job: Job, fit: Fit) -> bool:
    """Whether quota still lets it start: owners may have come for their own since its victims were asked."""
    return table.standing(job, fit.kind, fit.gpus).starts


def _allowed_then(table: Table, job: Job, fit: Fit) -> bool:
    """Who was asked to go counts against quota until it has gone: so long the place may look like too much."""
    then = table.leaving.books()
    returns, firm = table.lending.to(job), not job.preemptible
    return then.standing(job.team, fit.kind, fit.gpus, returns=returns, firm=firm).starts


def _fit(table: Table, claim: Claim) -> Fit:
    gpus = sum(len(seat.slots) for seat in claim.seats)
    return Fit(Placement(table.kind_of(claim.seats), claim.seats, "cluster"), gpus)


def _all_free(table: Table, claim: Claim) -> bool:
    rows = table.layout.row
    return all(table.board.free[rows[seat.node], list(seat.slots)].all() for seat in claim.seats)


def _coming(table: Table, claim: Claim) -> bool:
    """Whether everything that is not free is held by somebody who was asked to go, on nodes that work."""
    leaving: set[tuple[int, int]] = set()
    for run in table.snap.running:
        if run.stopping:
            leaving |= {(seat.node, slot) for seat in run.seats for slot in seat.slots}
    rows, board = table.layout.row, table.board
    return all(
        board.free[rows[seat.node], slot]
        or ((seat.node, slot) in leaving and board.works[rows[seat.node], slot])
        for seat in claim.seats
        for slot in seat.slots
    )


def within_s(table: Table, claim: Claim) -> Moment:
    """How long until the place is there at the latest."""
    return max(0.0, claim.since + table.policy.grace_s - table.now)
