"""Behind the head of the line: whoever fits and breaks no promise that binds it starts, the quickest first."""

from scheduler.core.line import Line
from scheduler.core.model import Request, Tier
from scheduler.core.risk import harmless, on_recall
from scheduler.core.table import Table


def fill(table: Table, line: Line) -> None:
    """One pass; a request that has no place now has none for anybody later in the pass."""
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
            fit = harmless(table, job)
            if fit is not None:
                table.start(job, fit, on_recall=on_recall(table, job, fit))
