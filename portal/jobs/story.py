"""One job as its page tells it: how far it is, its runs, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Prefetch
from django.utils import timezone

from portal import moments, words
from portal.errors import NotFound
from portal.jobs.models import Hold, Job, Run, Seat
from portal.jobs.runs import WAITS_AGAIN
from portal.jobs.spec import GRACE_S
from portal.jobs.waits import Planned
from portal.showback.pricing import Bill, Span, bill
from portal.showback.queries import rates

ENDS = {"finished": "done", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the stepper."""

    word: str
    note: str = ""
    look: str = ""  # passed, a state, or nothing while it lies ahead
    current: bool = False


def steps(job: Job, runs: Sequence[Run], *, planned: str, now: datetime) -> list[Step]:
    """Only what this job has passed or can still pass; of several runs the newest counts.

    `planned`: when a job that waits is to start, in words; empty where nothing is planned.
    """
    run = runs[-1] if runs and job.phase != Job.Phase.WAITING else None
    found = [Step("Submitted", _clock(job.submitted_at, now), "passed"), _waiting(job, runs, now)]
    if run is not None or not job.is_over:
        found.append(_reached(job, "starting", run.created_at if run else None, now, planned=planned))
    if not job.is_over or (run is not None and run.started_at is not None):
        found.append(_reached(job, "running", run.started_at if run else None, now))
    if job.phase == Job.Phase.STOPPING and run is not None:
        found.append(Step("Stopping", f"since {_clock(run.asked_at, now)}", "finishing", current=True))
        if run.cause in WAITS_AGAIN:
            found.append(Step("Waiting again"))
    if job.is_over:
        word = Job.Phase(job.phase).label
        found.append(Step(word, _clock(job.ended_at, now), ENDS[job.phase], current=True))
    else:
        found.append(Step("Finished"))
    return found


def _waiting(job: Job, runs: Sequence[Run], now: datetime) -> Step:
    since = waiting_since(job, runs)
    if job.phase == Job.Phase.WAITING:
        return Step("Waiting", f"since {_clock(since, now)}", "waiting", current=True)
    until = runs[-1].created_at if runs else job.ended_at or now
    return Step("Waiting", words.duration(max(timedelta(), until - since)), "passed")


def waiting_since(job: Job, runs: Sequence[Run]) -> datetime:
    """Since it was submitted, or since the run before the newest wait ended."""
    before = runs if job.phase == Job.Phase.WAITING else runs[:-1]
    ended = before[-1].ended_at if before else None
    return ended or job.submitted_at


def _reached(job: Job, phase: str, at: datetime | None, now: datetime, *, planned: str = "") -> Step:
    word = Job.Phase(phase).label
    if job.phase == phase:
        return Step(word, f"since {_clock(at, now)}" if at else "", phase, current=True)
    return Step(word, _clock(at, now), "passed") if at else Step(word, planned)


def planned_says(planned: Planned | None, *, now: datetime) -> str:
    """When it is to start, under the step that it waits for."""
    if planned is None:
        return ""
    when = _clock(planned.at, now) if planned.at else words.duration(planned.within_s)
    return f"{planned.about} {when}"


def _clock(at: datetime | None, now: datetime) -> str:
    return moments.clock(at, now, timezone.get_current_timezone()) if at else ""


def cancel_says(job: Job) -> str:
    """What cancelling does, before it is done."""
    kept = "What it printed and cost is kept, and it can be cloned."
    if job.phase == Job.Phase.WAITING:
        return f"It leaves the queue. {kept}"
    return f"Its ranks are asked to end and are stopped {GRACE_S} s later; its GPUs are given back. {kept}"


def runs_of(job: Job) -> list[Run]:
    """Every attempt with its places, oldest first; two queries."""
    heavy = ("spec", "node__latest", "node__hardware", "node__hardware_reported")
    seats = Seat.objects.select_related("node").defer(*heavy)
    return list(Run.objects.filter(job=job).order_by("epoch").prefetch_related(Prefetch("seats", seats)))


def chosen(job: Job, runs: Sequence[Run], epoch: str) -> Run | None:
    """The run a reader asked for, or the newest."""
    if not epoch:
        return runs[-1] if runs else None
    for run in runs:
        if str(run.epoch) == epoch:
            return run
    raise NotFound(f"Job {job.pk} has no run {epoch[:20]}.", field="run")


@dataclass(frozen=True, slots=True)
class Money:
    """What a job cost so far, by run and in all, and what its GPUs cost now."""

    total: Bill
    by_run: dict[int, Bill]
    gpu_types: tuple[str, ...]
    rate: int | None  # micro-units per GPU and hour, where all its GPUs are of one type with a rate
    most: int | None  # with the limit used up


def money(job: Job, *, now: datetime) -> Money:
    """Two queries; the holds that booked the GPUs are what is billed."""
    spans: dict[int, list[Span]] = {}
    holds = Hold.objects.filter(run__job=job).values_list(
        "run_id", "gpu__node__gpu_type", "held_from", "released_at"
    )
    for run, kind, begin, end in holds:
        spans.setdefault(run, []).append(Span(kind, begin, max(begin, end or now)))
    table = rates()
    kinds = tuple(sorted({span.gpu_type for mine in spans.values() for span in mine}))
    one = kinds[0] if len(kinds) == 1 else job.gpu_type if not kinds else ""
    begun = [micros for since, micros in table.get(one, ()) if since <= now]
    rate = begun[-1] if begun else None
    most = rate * job.gpus * job.limit_s // 3_600 if rate is not None and job.limit_s else None
    return Money(
        total=bill([span for mine in spans.values() for span in mine], table),
        by_run={run: bill(mine, table) for run, mine in spans.items()},
        gpu_types=kinds,
        rate=rate,
        most=most,
    )
