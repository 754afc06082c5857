"""A plan to rows: gangs in batches, each whole or not at all, and verdicts in bulk where they changed."""

import json
import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction

from portal.cluster.models import SILENT_AFTER, Gpu, Node
from portal.cycle.seating import Caps, Gang, seat
from portal.jobs.models import Job
from portal.jobs.spec import Place
from scheduler.core.reasons import Reason
from scheduler.core.verbs import Plan, Start, Verdict

log = logging.getLogger(__name__)

# Long enough to save statements, short enough that beats of the nodes it locks do not wait long.
BATCH = 100


def starts(plan: Plan, *, caps: Caps, now: datetime) -> tuple[set[int], int]:
    """Carry out what still can be; returns the nodes that need orders, and how many starts were refused."""
    done: list[Start] = []
    for first in range(0, len(plan.starts), BATCH):
        done += _together(plan.starts[first : first + BATCH], caps, now)
    return {seat.node for start in done for seat in start.seats}, len(plan.starts) - len(done)


def _together(batch: Sequence[Start], caps: Caps, now: datetime) -> list[Start]:
    """One transaction for all of them; where the database refuses, for each half, down to the one it means."""
    try:
        with transaction.atomic():
            return _carry_out(batch, caps, now)
    except IntegrityError as why:  # gpu_held_once said no
        if len(batch) == 1:
            log.info("start of job %s skipped: %s", batch[0].job, why)
            return []
    half = len(batch) // 2
    return _together(batch[:half], caps, now) + _together(batch[half:], caps, now)


def _carry_out(batch: Sequence[Start], caps: Caps, now: datetime) -> list[Start]:
    """Those whose facts still hold; the locks keep them so until the commit. Jobs first, then nodes by id."""
    jobs = _jobs(batch)
    nodes = _usable({seat.node for start in batch for seat in start.seats}, now)
    gpus = {(gpu.node_id, gpu.slot): gpu for gpu in Gpu.objects.filter(node__in=nodes, retired_at=None)}
    able: list[Start] = []
    gangs: list[Gang] = []
    for start in batch:
        job, places = jobs.get(start.job), _places(start, nodes, gpus)
        if job is None or job.version != start.job_version or places is None:
            log.info("start of job %s skipped: its facts no longer hold", start.job)
            continue
        able.append(start)
        gangs.append(Gang(job, places, start.on_recall))
    if gangs:
        seat(gangs, names={pk: node.name for pk, node in nodes.items()}, caps=caps, now=now)
    return able


def _jobs(batch: Sequence[Start]) -> dict[int, Job]:
    rows = Job.objects.select_for_update(of=("self",)).select_related("team", "user")
    waiting = rows.filter(pk__in=[start.job for start in batch], phase=Job.Phase.WAITING)
    return {job.pk: job for job in waiting.order_by("pk")}


def _usable(ids: Iterable[int], now: datetime) -> dict[int, Node]:
    rows = Node.objects.select_for_update(no_key=True).filter(
        pk__in=ids,
        approved_at__isnull=False,
        drained_at=None,
        lost_at=None,
        last_seen_at__gte=now - SILENT_AFTER,
    )
    return {node.pk: node for node in rows.only("name", "address").order_by("pk")}


def _places(start: Start, nodes: dict[int, Node], gpus: dict[tuple[int, int], Gpu]) -> Sequence[Place] | None:
    """The seats with their GPUs; None where a node is no longer ready or a GPU no longer there."""
    try:
        return [
            Place(seat.node, nodes[seat.node].address, [gpus[seat.node, slot] for slot in seat.slots])
            for seat in start.seats
        ]
    except KeyError:
        return None


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
    told = [(verdict, _told(verdict, known.get(verdict.job), now)) for verdict in found]
    news = [(verdict, said) for verdict, said in told if known.get(verdict.job, said) != said]
    if not news:
        return 0
    reasons, numbers, ahead_jobs, ahead_gpus = zip(*(said for _, said in news), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            WRITE,
            {
                "now": now,
                "jobs": [verdict.job for verdict, _ in news],
                "versions": [verdict.job_version for verdict, _ in news],
                "reasons": list(reasons),
                "numbers": [json.dumps(each) for each in numbers],
                "ahead_jobs": list(ahead_jobs),
                "ahead_gpus": list(ahead_gpus),
            },
        )
        return int(cursor.rowcount)


def _told(verdict: Verdict, before: list[Any] | None, now: datetime) -> list[Any]:
    """As the row keeps it: reason, numbers, jobs and GPUs ahead."""
    numbers = dict(verdict.numbers)
    if verdict.reason is Reason.NOT_REACHED and before is not None:
        numbers |= _last_answer(before[0], before[1], now)
    return [verdict.reason.value, numbers, verdict.ahead_jobs, verdict.ahead_gpus]


def _last_answer(reason: str, numbers: dict[str, Any], now: datetime) -> dict[str, Any]:
    """What a round that did not come to a job leaves standing: the answer before it, and until when it held."""
    if reason == Reason.NOT_REACHED:
        return {key: value for key, value in numbers.items() if key.startswith("last_")}
    return {"last_code": reason, "last_numbers": numbers, "last_at": now.isoformat()} if reason else {}
