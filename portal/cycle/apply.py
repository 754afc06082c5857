"""A plan to rows: each gang in a transaction of its own, and verdicts in bulk where they changed."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Max

from portal.cluster.models import SILENT_AFTER, Gpu, Node
from portal.jobs.models import Hold, Job, Rank, Run, Seat
from portal.jobs.spec import Place, spec
from portal.journal.actions import note
from portal.journal.models import Entry
from scheduler.core.model import Plan, Start, Verdict
from scheduler.wire import digest

log = logging.getLogger(__name__)


class Stale(Exception):
    """The plan was made of facts that no longer hold; the next cycle plans anew."""


def starts(plan: Plan, *, now: datetime) -> tuple[set[int], int]:
    """Carry out what still can be; returns the nodes that need orders, and how many starts were refused."""
    nodes: set[int] = set()
    skipped = 0
    for start in plan.starts:
        try:
            with transaction.atomic():
                _start(start, now)
        except (Stale, IntegrityError) as why:  # IntegrityError: gpu_held_once said no
            log.info("start of job %s skipped: %s", start.job, why)
            skipped += 1
        else:
            nodes |= {seat.node for seat in start.seats}
    return nodes, skipped


def _start(start: Start, now: datetime) -> None:
    ours = Job.objects.filter(pk=start.job, version=start.job_version, phase=Job.Phase.WAITING)
    changed = ours.update(
        phase=Job.Phase.STARTING, version=F("version") + 1, reason="", reason_numbers={}, reason_since=None
    )
    if not changed:
        raise Stale("the job changed")
    job = Job.objects.select_related("team", "user").get(pk=start.job)
    places = _places(start, now)
    epoch = (Run.objects.filter(job=job).aggregate(last=Max("epoch"))["last"] or 0) + 1
    run = Run.objects.create(job=job, epoch=epoch, created_at=now)
    Hold.objects.bulk_create(Hold(run=run, gpu=gpu, held_from=now) for place in places for gpu in place.gpus)
    _seat_ranks(job, run, places)
    where = ", ".join(_names(places))
    sentence = f"Run {epoch} given {job.gpus} GPU{'s' * (job.gpus > 1)} on {where}"
    note(about=(Entry.Kind.JOB, job.pk), verb="placed", now=now, sentence=sentence, facts={"run": run.pk})


def _places(start: Start, now: datetime) -> list[Place]:
    """The seats' nodes, locked in the order of their ids, and their GPUs."""
    ids = sorted(seat.node for seat in start.seats)
    usable = Node.objects.select_for_update().filter(
        pk__in=ids,
        approved_at__isnull=False,
        drained_at=None,
        lost_at=None,
        last_seen_at__gte=now - SILENT_AFTER,
    )
    nodes = {node.pk: node for node in usable.order_by("pk")}
    if len(nodes) != len(ids):
        raise Stale("a node is no longer ready")
    gpus = {(gpu.node_id, gpu.slot): gpu for gpu in Gpu.objects.filter(node__in=ids, retired_at=None)}
    try:
        return [
            Place(seat.node, nodes[seat.node].address, [gpus[seat.node, slot] for slot in seat.slots])
            for seat in start.seats
        ]
    except KeyError:
        raise Stale("a GPU is no longer there") from None


def _seat_ranks(job: Job, run: Run, places: Sequence[Place]) -> None:
    seats = []
    for node_rank, place in enumerate(places):
        words = spec(job=job, run=run, places=places, node_rank=node_rank)
        seats.append(
            Seat(run=run, node_id=place.node_id, node_rank=node_rank, spec=words, digest=digest(words))
        )
    Seat.objects.bulk_create(seats)
    Rank.objects.bulk_create(
        Rank(run=run, seat=seat, rank=each["rank"], local_rank=each["local_rank"], gpu=gpu)
        for seat, place in zip(seats, places, strict=True)
        for each, gpu in zip(seat.spec["ranks"], place.gpus, strict=True)
    )


def _names(places: Sequence[Place]) -> list[str]:
    shown = [place.gpus[0].node_id for place in places[:8]]
    names = dict(Node.objects.filter(pk__in=shown).values_list("pk", "name"))
    more = [f"{len(places) - 8} more"] if len(places) > 8 else []
    return [names[pk] for pk in shown] + more


# Compare-and-set for all of them at once: a job that changed since the snapshot keeps what it says now.
WRITE = """
    UPDATE jobs_job AS job
       SET reason = found.reason, reason_numbers = found.numbers::jsonb,
           ahead_jobs = found.ahead_jobs, ahead_gpus = found.ahead_gpus,
           reason_since = CASE WHEN job.reason = found.reason THEN job.reason_since ELSE %(now)s END
      FROM unnest(%(jobs)s::bigint[], %(versions)s::bigint[], %(reasons)s::text[], %(numbers)s::text[],
                  %(ahead_jobs)s::int[], %(ahead_gpus)s::int[])
           AS found (id, version, reason, numbers, ahead_jobs, ahead_gpus)
     WHERE job.id = found.id AND job.version = found.version AND job.phase = 'waiting'
"""


def verdicts(found: Sequence[Verdict], *, now: datetime) -> int:
    """Write why each job waits, in one statement and only where that changed; returns how many did."""
    rows = Job.objects.filter(phase=Job.Phase.WAITING).order_by()
    known = {
        job: told
        for job, *told in rows.values_list("pk", "reason", "reason_numbers", "ahead_jobs", "ahead_gpus")
    }
    news = [verdict for verdict in found if known.get(verdict.job, _told(verdict)) != _told(verdict)]
    if not news:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            WRITE,
            {
                "now": now,
                "jobs": [verdict.job for verdict in news],
                "versions": [verdict.job_version for verdict in news],
                "reasons": [verdict.reason.value for verdict in news],
                "numbers": [json.dumps(dict(verdict.numbers)) for verdict in news],
                "ahead_jobs": [verdict.ahead_jobs for verdict in news],
                "ahead_gpus": [verdict.ahead_gpus for verdict in news],
            },
        )
        return int(cursor.rowcount)


def _told(verdict: Verdict) -> list[Any]:
    return [verdict.reason, dict(verdict.numbers), verdict.ahead_jobs, verdict.ahead_gpus]
