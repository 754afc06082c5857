"""Behind the head of the line: whoever fits and breaks no promise that binds it starts, the quickest first."""

from scheduler.core.line import Line
from scheduler.core.model import Job, Request, Tier
from scheduler.core.risk import harmless, on_recall
from scheduler.core.table import Table


def fill(table: Table, line: Line) -> None:
    """As many as the policy looks at; then the head, where it only stood aside and nobody took its place."""
    _quickest(table, line)
    if line.not_reached and line.stood_aside:
        _in_order(table, line)


def _quickest(table: Table, line: Line) -> None:
    """A request that has no place now has none for anybody later in the pass."""
    full: set[tuple[Request, bool]] = set()
    looked = 0
    for job in line.quickest():
        key = (job.request, job.tier is Tier.PRODUCTION)
        if key in full:
            continue
        if looked >= table.policy.backfill_depth:
            line.not_reached = True
            break
        looked += 1
        if not table.has_room(job):
            full.add(key)
        elif line.admits(job):
            _starts(table, job)


def _in_order(table: Table, line: Line) -> None:
    """From the head on until somebody finds no place: none of these stands behind anybody who waits for one."""
    for job in line.order:
        refused = job.id in table.settled or not table.kinds(job, job.request.least) or not line.admits(job)
        if not refused and not _starts(table, job):
            break


def _starts(table: Table, job: Job) -> bool:
    fit = harmless(table, job)
    if fit is not None:
        table.start(job, fit, on_recall=on_recall(table, job, fit))
    return fit is not None
