"""Reads about jobs: what somebody may see of them, and what they cost."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q, QuerySet

from portal.accounts.models import Team, User
from portal.accounts.queries import Standing
from portal.errors import NotFound
from portal.jobs.models import Hold, Job, Run
from portal.showback.pricing import Bill, Span, bill
from portal.showback.queries import rates


def seen_by(standing: Standing) -> QuerySet[Job]:
    """The jobs a person may see in full."""
    jobs = Job.objects.select_related("team", "user")
    teams = standing.teams("job.see")
    return jobs if teams is None else jobs.filter(Q(team__in=teams) | Q(user=standing.user))


def job_for(standing: Standing, rule: str, number: int) -> Job:
    """The job, if the person may do this to it; a job one may not see does not exist."""
    job = Job.objects.select_related("team", "user").filter(pk=number).first() if number < 2**63 else None
    if job is None or not standing.may("job.see", team_id=job.team_id, owner_id=job.user_id):
        raise NotFound(f"There is no job {number}, or it is not one of your teams'.")
    standing.require(rule, team_id=job.team_id, owner_id=job.user_id)
    return job


def submitting_teams(standing: Standing) -> list[Team]:
    """The teams a person may submit for."""
    teams = standing.teams("job.submit")
    return list(Team.objects.all() if teams is None else Team.objects.filter(pk__in=teams))


def seen_teams(standing: Standing) -> list[str]:
    """The names of the teams whose jobs a person may see, for filters."""
    teams = standing.teams("job.see")
    found = Team.objects.all() if teams is None else Team.objects.filter(pk__in=teams)
    return list(found.values_list("name", flat=True))


def last_of(user: User) -> Job | None:
    """The job a person submitted last, to start another one from."""
    return Job.objects.filter(user=user).only("name").order_by("-submitted_at", "-pk").first()


def live() -> QuerySet[Job]:
    """Everything that waits, starts, runs or stops: the queue, of which everybody sees size, tier and team."""
    return Job.objects.filter(ended_at=None).select_related("team", "user").defer("command", "env")


def newest_run(job: Job) -> Run | None:
    return Run.objects.filter(job=job).order_by("-epoch").first()


def jobs_on(node_ids: Iterable[int]) -> dict[int, Job]:
    """Which job holds each GPU of these nodes now, by GPU id; two queries, and each job once."""
    holds = Hold.objects.filter(released_at=None, gpu__node__in=node_ids)
    held = dict(holds.values_list("gpu_id", "run__job_id"))
    found = Job.objects.filter(pk__in=set(held.values())).select_related("team").defer("command", "env")
    jobs = {job.pk: job for job in found}
    return {gpu: jobs[job] for gpu, job in held.items()}


def cost(job: Job, *, now: datetime) -> Bill:
    """What the job has cost until now, from its holds: the rows that booked its GPUs."""
    return costs([job.pk], now=now).get(job.pk, Bill())


def costs(jobs: Iterable[int], *, now: datetime) -> dict[int, Bill]:
    """The same for many jobs at once; two queries."""
    spans: dict[int, list[Span]] = {}
    rows = Hold.objects.filter(run__job__in=jobs).values_list(
        "run__job_id", "gpu__node__gpu_type", "held_from", "released_at"
    )
    for job, gpu_type, begin, end in rows:
        spans.setdefault(job, []).append(Span(gpu_type, begin, max(begin, end or now)))
    prices = rates()
    return {job: bill(mine, prices) for job, mine in spans.items()}
