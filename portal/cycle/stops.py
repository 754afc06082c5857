"""Stops to rows: runs are asked to make way for other jobs, each with its receipt."""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from django.db import transaction
from django.db.models import F

from portal import bell, words
from portal.cycle.figures import length
from portal.jobs.models import Job, Receipt, Run
from portal.jobs.runs import LIVE
from portal.journal.actions import entry, note_all
from portal.journal.models import Entry
from scheduler.core.verbs import Stop, Why

log = logging.getLogger(__name__)


@transaction.atomic
def ask(stops: Sequence[Stop], *, grace_s: float, now: datetime) -> int:
    """A handful of statements for all of them; returns how many were asked. Who ended meanwhile is left alone."""
    if not stops:
        return 0
    jobs = _locked(stops)
    runs = {run.job_id: run for run in Run.objects.filter(job__in=jobs, phase__in=LIVE)}
    able = [stop for stop in stops if _still(stop, jobs, runs)]
    for why in Why:
        mine = [runs[stop.job].pk for stop in able if stop.why is why]
        if mine:
            Run.objects.filter(pk__in=mine).update(
                phase=Run.Phase.STOPPING, cause=Run.Cause(why.value), asked_at=now, grace_s=round(grace_s)
            )
    Job.objects.filter(pk__in=[stop.job for stop in able]).update(
        phase=Job.Phase.STOPPING, version=F("version") + 1
    )
    Receipt.objects.bulk_create(_receipt(stop, runs[stop.job], now) for stop in able)
    note_all(_told(able, jobs, runs, grace_s=grace_s, now=now))
    bell.ring()
    return len(able)


def _locked(stops: Sequence[Stop]) -> dict[int, Job]:
    """Those that stop and those they stop for, in the order in which everybody locks."""
    ids = {stop.job for stop in stops} | {stop.for_job for stop in stops}
    rows = Job.objects.select_for_update(of=("self",)).select_related("team").defer("command", "env")
    return {job.pk: job for job in rows.filter(pk__in=ids).order_by("pk")}


def _still(stop: Stop, jobs: dict[int, Job], runs: dict[int, Run]) -> bool:
    """Whether it runs, and the one it should make way for still waits: no stop without a start to follow."""
    wanted = jobs.get(stop.for_job)
    holds = stop.job in runs and wanted is not None and wanted.phase == Job.Phase.WAITING
    if not holds:
        log.info("stop of job %s skipped: its facts no longer hold", stop.job)
    return holds


def _receipt(stop: Stop, run: Run, now: datetime) -> Receipt:
    return Receipt(
        run=run,
        at=now,
        why=stop.why.value,
        for_job_id=stop.for_job,
        lost_gpu_ms=max(0, round(stop.receipt.lost_gpu_s * 1000)),
        rule=dict(stop.receipt.rule),
        rejected=[dict(each) for each in stop.receipt.rejected],
    )


def _told(
    able: Sequence[Stop], jobs: dict[int, Job], runs: dict[int, Run], *, grace_s: float, now: datetime
) -> list[Entry]:
    """For each who goes, and once for each they go for. Neither names the other: their readers differ."""
    told = [
        entry(
            about=(Entry.Kind.JOB, stop.job), verb=stop.why.value, now=now,
            sentence=f"{_asked(stop.why, jobs[stop.for_job])}; it has {length(grace_s)} to save its work",
            facts={"run": runs[stop.job].pk, "for_job": stop.for_job},
        )
        for stop in able
    ]  # fmt: skip
    for job, number in Counter(stop.for_job for stop in able).items():
        sentence = f"{words.many(number, 'job')} asked to make room for it"
        told.append(entry(about=(Entry.Kind.JOB, job), verb="clearing", now=now, sentence=sentence))
    return told


def _asked(why: Why, other: Job) -> str:
    match why:
        case Why.PREEMPTED:
            return f"Asked to make way for a {other.tier} job of team {other.team.name}"
        case Why.RECLAIMED:
            return f"Asked to give lent GPUs back to team {other.team.name}"
        case Why.RECALLED:
            return f"Asked to make way for an older {other.tier} job of team {other.team.name}"
        case Why.MOVED:
            return f"Asked to move, so that a job of team {other.team.name} finds its place"
        case unworded:
            assert_never(unworded)
