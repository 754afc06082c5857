"""Where a place may be made: beside what is promised to others, and on nodes that stay open long enough."""

from math import inf

from scheduler.core.board import Board
from scheduler.core.model import Job, Moment, Running
from scheduler.core.risk import binding
from scheduler.core.table import Table
from scheduler.core.timeline import planned_end


def gone_by(table: Table, job: Job) -> Moment:
    """When the job has ended at the latest that starts as soon as those who make way for it have gone."""
    return _ready_by(table) + table.lasts_s(job)


def ground_for(table: Table, job: Job) -> Board:
    """The board on which a place may be made for this job, whoever leaves it."""
    return table.clear_of(binding(table, job), gone_by(table, job))


def home_of(table: Table, bound: frozenset[int], run: Running) -> Board:
    """The board on which a run may go on that moves: there its whole limit begins anew."""
    return table.clear_of(bound, _ready_by(table) + lasts_again_s(run))


def lasts_again_s(run: Running) -> float:
    """How long a run may hold its place from the moment at which it starts again: its limit, or for ever."""
    return inf if run.ends_by is None else run.ends_by - run.started_at


def ends(table: Table, run: Running) -> Moment:
    """When a run ends that goes on where it is."""
    return planned_end(run, table.now, table.policy)


def _ready_by(table: Table) -> Moment:
    """Until then all have gone who are asked now, and the round is over that sees it."""
    return table.now + table.policy.grace_s + table.policy.cycle_s
