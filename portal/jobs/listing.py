"""The list of jobs: what a person asked to see of it, page by page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from portal.accounts.models import Team, User
from portal.accounts.queries import Standing
from portal.jobs.models import OVER, Job, Run
from portal.jobs.pages import after, before, cursor_of
from portal.jobs.queries import seen_by

PAGE = 50
LIVE = tuple(phase for phase in Job.Phase.values if phase not in OVER)
NOT_OVER = "live"  # as a filter: every phase before the end


@dataclass(frozen=True, slots=True)
class Page:
    """Some jobs, newest first, and where the pages beside begin."""

    jobs: list[Job]
    newer: str = ""  # cursors
    older: str = ""


def page(standing: Standing, wanted: Mapping[str, Any], *, after_: str = "", before_: str = "") -> Page:
    """One page of what was asked for; one query, and two small ones for a search."""
    jobs = with_newest_run(filtered(seen_by(standing), standing.user, wanted)).defer("command", "env")
    if before_:
        found = list(before(jobs, before_)[: PAGE + 1])
        rows = found[:PAGE][::-1]
        return Page(
            rows, cursor_of(rows[0]) if len(found) > PAGE else "", cursor_of(rows[-1]) if rows else ""
        )
    found = list(after(jobs, after_)[: PAGE + 1])
    rows = found[:PAGE]
    older = cursor_of(rows[-1]) if len(found) > PAGE else ""
    return Page(rows, cursor_of(rows[0]) if after_ and rows else "", older)


def filtered(jobs: QuerySet[Job], user: User, wanted: Mapping[str, Any]) -> QuerySet[Job]:
    """Only the jobs that match everything asked for."""
    if wanted.get("mine"):
        jobs = jobs.filter(user=user)
    if phase := wanted.get("phase"):
        jobs = jobs.filter(phase__in=LIVE if phase == NOT_OVER else (phase,))
    for name, field in (("team", "team__name"), ("tier", "tier"), ("type", "gpu_type")):
        if wanted.get(name):
            jobs = jobs.filter(**{field: wanted[name]})
    return jobs.filter(_matching(wanted["q"])) if wanted.get("q") else jobs


def _matching(text: str) -> Q:
    """A number, a part of a name, or a person or team. People and teams are few: they are found first."""
    people = User.objects.filter(Q(full_name__icontains=text) | Q(email__icontains=text))
    found = Q(name__icontains=text) | Q(user__in=list(people.values_list("pk", flat=True)[:200]))
    found |= Q(team__in=list(Team.objects.filter(name__icontains=text).values_list("pk", flat=True)[:200]))
    return found | Q(pk=int(text)) if is_number(text) else found


def is_number(text: str) -> bool:
    """Whether a search can be the number of a job."""
    return text.isascii() and text.isdigit() and len(text) < 19


def with_newest_run(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Each job with when its newest run was placed and when every rank of it ran."""
    newest = Run.objects.filter(job=OuterRef("pk")).order_by("-epoch")
    return jobs.annotate(
        placed_at=Subquery(newest.values("created_at")[:1]),
        began_at=Subquery(newest.values("started_at")[:1]),
    )
