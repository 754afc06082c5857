"""Runs whose end nobody knows: when they are gone at the latest, because a job whose age protects it calls them back."""

from collections.abc import Iterator
from math import isinf

from scheduler.core.elastic import sizes
from scheduler.core.maystop import Case, Spared
from scheduler.core.model import Job, Moment, Running
from scheduler.core.recall import due_at
from scheduler.core.table import Table
from scheduler.core.timeline import Future, planned_end


def future_for(table: Table, job: Job) -> Future:
    """When places come free for a protected job: what no end is known of makes way when its turn has come."""
    called = list(_called(table, job))
    return table.future.if_called(called) if called else table.future


def _called(table: Table, job: Job) -> Iterator[tuple[Running, Moment]]:
    endless = [run for run in table.standing_runs() if isinf(planned_end(run, table.now, table.policy))]
    if not endless:
        return
    rules, due = table.rules.in_time(), max(table.now, due_at(job, table.policy))
    cases = {
        kind: Case(job, kind, rules, gpus=sizes(job.request)[0], recall=True) for kind in table.accepted(job)
    }
    for run in endless:
        case = cases.get(run.gpu_type)
        if case is not None and not isinstance(case.judge(run).answer, Spared):
            turn = due if run.tier == job.tier else table.now
            ripe = run.started_at + table.policy.min_runtime_s[run.tier.word]
            yield run, max(turn, ripe) + table.policy.grace_s
