"""Writes about jobs: submitting and cancelling. What happens to runs is in runs.py."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F

from portal import bell
from portal.accounts.models import User
from portal.cluster.queries import gpu_types
from portal.errors import Conflict, Refusal
from portal.jobs import ask as asks
from portal.jobs import runs
from portal.jobs.ask import Ask
from portal.jobs.models import Job, Run
from portal.journal.actions import note
from portal.journal.models import Entry

KEY_LENGTH = 100


def submit(*, ask: Ask, by: User, now: datetime, key: str = "") -> Job:
    """A waiting job; the same key and request again gives the same job, never a second one."""
    if earlier := asked_before(ask=ask, by=by, key=key):
        return earlier
    asks.check(ask, gpu_types=gpu_types())
    try:
        with transaction.atomic():
            return _create(ask=ask, by=by, now=now, key=key)
    except IntegrityError:  # the same request came in twice at once
        earlier = asked_before(ask=ask, by=by, key=key)
        if earlier is None:
            raise
        return earlier


def asked_before(*, ask: Ask, by: User, key: str) -> Job | None:
    """The job that this person got for this key, if it was for the same request."""
    if len(key) > KEY_LENGTH or not key.isprintable():
        raise Refusal(
            f"An idempotency key has at most {KEY_LENGTH} printable characters.", field="Idempotency-Key"
        )
    earlier = Job.objects.filter(user=by, idempotency_key=key).first() if key else None
    if earlier is not None and earlier.ask_digest != ask.digest:
        raise Conflict(
            f"This idempotency key belongs to job {earlier.pk}, which asked for something else.",
            field="Idempotency-Key",
            job=earlier.pk,
        )
    return earlier


def _create(*, ask: Ask, by: User, now: datetime, key: str) -> Job:
    job = Job.objects.create(
        name=ask.name,
        team=ask.team,
        user=by,
        tier=ask.tier,
        command=ask.command,
        env=dict(ask.env),
        nodes=ask.nodes,
        gpus_per_node=ask.gpus_per_node,
        gpu_type=ask.gpu_type,
        limit_s=ask.limit_s,
        cloned_from_id=ask.cloned_from,
        submitted_at=now,
        idempotency_key=key,
        ask_digest=ask.digest,
    )
    note(about=(Entry.Kind.JOB, job.pk), verb="submitted", actor=by, now=now, sentence="Submitted")
    bell.ring()
    return job


@transaction.atomic
def cancel(*, job: Job, by: User, now: datetime) -> Job:
    """A waiting job ends at once; a running one is stopped first. Cancelling twice is fine."""
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.is_over:
        if job.phase != Job.Phase.CANCELLED:
            raise Conflict(f"Job {job.pk} has already {job.phase}; there is nothing left to cancel.")
        return job
    if job.phase == Job.Phase.WAITING:
        changed = Job.objects.filter(pk=job.pk, phase=Job.Phase.WAITING).update(
            phase=Job.Phase.CANCELLED, ended_at=now, version=F("version") + 1
        )
    else:
        run = Run.objects.exclude(phase=Run.Phase.ENDED).get(job=job)
        changed = runs.begin_to_end(run=run, cause=Run.Cause.CANCELLED, now=now)
    if changed:
        note(
            about=(Entry.Kind.JOB, job.pk),
            verb="cancelled",
            actor=by,
            now=now,
            sentence=f"Cancelled by {by.full_name}",
        )
        bell.ring()
    job.refresh_from_db()
    return job
