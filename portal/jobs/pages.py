"""Paging by cursor: stable while new jobs arrive, and as fast on the last page as on the first."""

from datetime import datetime

from django.core.signing import BadSignature, dumps, loads
from django.db.models import Q, QuerySet

from portal.errors import Refusal
from portal.jobs.models import Job

SALT = "jobs.cursor"


def cursor_of(job: Job) -> str:
    """Where the page after this job begins."""
    return dumps([job.submitted_at.isoformat(), job.pk], salt=SALT)


def after(jobs: QuerySet[Job], cursor: str) -> QuerySet[Job]:
    """The jobs behind the cursor, newest first."""
    jobs = jobs.order_by("-submitted_at", "-id")
    if not cursor:
        return jobs
    at, pk = _place(cursor)
    return jobs.filter(Q(submitted_at__lt=at) | Q(submitted_at=at, pk__lt=pk))


def before(jobs: QuerySet[Job], cursor: str) -> QuerySet[Job]:
    """The jobs in front of the cursor, the nearest first."""
    at, pk = _place(cursor)
    jobs = jobs.order_by("submitted_at", "id")
    return jobs.filter(Q(submitted_at__gt=at) | Q(submitted_at=at, pk__gt=pk))


def _place(cursor: str) -> tuple[datetime, int]:
    try:
        moment, pk = loads(cursor, salt=SALT)
    except BadSignature:
        raise Refusal("This cursor is not one of ours; start again without it.", field="cursor") from None
    return datetime.fromisoformat(moment), pk
