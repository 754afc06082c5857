"""The API's door to jobs: submit, list, get, cancel, logs, why."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from ninja import Field, Query, Router, Schema, Status

from portal.accounts.may import PersonRequest, may_call
from portal.accounts.models import Team
from portal.cycle import actions as cycle
from portal.errors import NotFound, Refusal
from portal.jobs import actions, logs, queries, shown
from portal.jobs.ask import Ask
from portal.jobs.models import Job
from portal.jobs.pages import after, cursor_of
from portal.jobs.waits import wait_of

router = Router(tags=["jobs"])


class JobIn(Schema):
    # A misspelt field is an error, not a default; nor is "2" a number, or true.
    model_config = {"extra": "forbid", "strict": True}

    name: str = Field(max_length=1000)
    team: str = Field(max_length=40)
    command: str
    tier: str = Job.Tier.STANDARD
    nodes: int = 1
    gpus_per_node: int = 1
    gpu_type: str = Field("", max_length=1000)
    limit_s: int | None = None
    env: dict[str, str] = {}


class JobOut(Schema):
    id: int
    name: str
    team: str
    user: str
    tier: str
    phase: str
    nodes: int
    gpus_per_node: int
    gpu_type: str
    limit_s: int | None
    submitted_at: datetime
    ended_at: datetime | None


class JobMore(JobOut):
    command: str
    env: dict[str, str]
    stops: int = Field(description="how often a run of it was stopped for other jobs")
    runs: list[dict[str, Any]]
    why: dict[str, Any] | None
    cost: dict[str, Any]


class JobPage(Schema):
    jobs: list[JobOut]
    next: str | None = Field(description="pass it as `cursor` for the following page")


class JobFilter(Schema):
    team: str = ""
    phase: str = ""
    mine: bool = False
    cursor: str = Field("", max_length=200)
    limit: int = Field(50, ge=1, le=500)


class LogFilter(Schema):
    epoch: int | None = None
    rank: int | None = Field(None, ge=0)
    after: int = Field(0, ge=0)


class WhyOut(Schema):
    waiting: bool
    why: dict[str, Any] | None


class PieceOut(Schema):
    rank: int
    start: int
    skipped: int
    text: str
    at: datetime


class LogOut(Schema):
    run: int | None
    pieces: list[PieceOut]
    next: int = Field(description="pass it as `after` for what comes later")


def _team(name: str) -> Team:
    team = Team.objects.filter(name=name).first() if name.isprintable() else None
    if team is None:
        raise Refusal(f"There is no team {name[:40]!r}.", field="team")
    return team


@router.post("/jobs", response={201: JobMore})
@may_call("job.submit")
def submit(request: PersonRequest, asked: JobIn) -> Status[Any]:
    """A new job. The same Idempotency-Key and body again gives the same job, never a second one."""
    team = _team(asked.team)
    request.standing.require("job.submit", team_id=team.pk)
    ask = Ask(**asked.dict(exclude={"team"}), team=team)
    now = timezone.now()
    job = cycle.submit(ask=ask, by=request.user, now=now, key=request.headers.get("Idempotency-Key", ""))
    return Status(201, shown.whole(job, request.standing, now=now))


@router.get("/jobs", response=JobPage)
@may_call("job.list")
def list_jobs(request: PersonRequest, wanted: Query[JobFilter]) -> dict[str, Any]:
    """Your teams' jobs, newest first."""
    jobs = queries.seen_by(request.standing)
    if wanted.team:
        jobs = jobs.filter(team=_team(wanted.team))
    if wanted.phase:
        if wanted.phase not in Job.Phase.values:
            raise Refusal(f"The phase is one of: {', '.join(Job.Phase.values)}.", field="phase")
        jobs = jobs.filter(phase=wanted.phase)
    if wanted.mine:
        jobs = jobs.filter(user=request.user)
    rows = list(after(jobs, wanted.cursor)[: wanted.limit + 1])
    more = len(rows) > wanted.limit
    rows = rows[: wanted.limit]
    return {"jobs": [shown.line(job) for job in rows], "next": cursor_of(rows[-1]) if more else None}


@router.get("/jobs/{number}", response=JobMore)
@may_call("job.see")
def get_job(request: PersonRequest, number: int) -> dict[str, Any]:
    """One job with its runs, why it waits, and what it cost."""
    job = queries.job_for(request.standing, "job.see", number)
    return shown.whole(job, request.standing, now=timezone.now())


@router.post("/jobs/{number}/cancel", response=JobOut)
@may_call("job.cancel")
def cancel(request: PersonRequest, number: int) -> dict[str, Any]:
    """A waiting job ends at once, a running one is stopped. What it printed and cost is kept."""
    job = queries.job_for(request.standing, "job.cancel", number)
    return shown.line(actions.cancel(job=job, by=request.user, now=timezone.now()))


@router.get("/jobs/{number}/why", response=WhyOut)
@may_call("job.see")
def why(request: PersonRequest, number: int) -> dict[str, Any]:
    """Why the job waits: a code, a sentence, and the numbers in it."""
    job = queries.job_for(request.standing, "job.see", number)
    found = wait_of(job, request.standing, now=timezone.now())
    return {"waiting": found is not None, "why": found.plain if found else None}


@router.get("/jobs/{number}/logs", response=LogOut)
@may_call("job.log")
def job_logs(request: PersonRequest, number: int, wanted: Query[LogFilter]) -> dict[str, Any]:
    """What the ranks printed, in order of arrival; of the newest run unless an epoch is named."""
    job = queries.job_for(request.standing, "job.log", number)
    run = queries.newest_run(job) if wanted.epoch is None else job.runs.filter(epoch=wanted.epoch).first()
    if run is None:
        if wanted.epoch is not None:
            raise NotFound(f"Job {number} has no run {wanted.epoch}.", field="epoch")
        return {"run": None, "pieces": [], "next": 0}
    pieces, last = logs.pieces(run.pk, rank=wanted.rank, after=wanted.after)
    return {"run": run.epoch, "pieces": pieces, "next": last}
