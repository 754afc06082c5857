"""Rows to a Snapshot: everything the planner may know, in a handful of queries."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import connection, transaction
from django.db.models import F, FloatField, Func, Max, Q

from portal.accounts.models import Team
from portal.cycle import intent, usage
from portal.cycle.machines import machines
from portal.cycle.queries import in_force, policy_of
from portal.cycle.stopped import Stopped, stopped_lately
from portal.jobs.models import Hold, Job, Run
from portal.quotas.models import Quota
from scheduler.core import model

TIER: dict[str, model.Tier] = {
    Job.Tier.PRODUCTION: model.Tier.PRODUCTION,
    Job.Tier.STANDARD: model.Tier.STANDARD,
    Job.Tier.OPPORTUNISTIC: model.Tier.OPPORTUNISTIC,
}


class Seconds(Func):
    """A moment as the core counts them. The database does this ten times faster than Python reads a date."""

    template = "EXTRACT(EPOCH FROM %(expressions)s)::float8"
    arity = 1
    output_field = FloatField()


def take(*, now: datetime) -> model.Snapshot:
    """A fixed number of queries, however many jobs and nodes there are, all of one moment of the database."""
    with _steady():
        ground, stopped, policy = machines(now=now), stopped_lately(now=now), policy_of(in_force())
        seats, runs, waiting = _seats(), _runs(), _waiting(stopped)
        claims, promises = intent.kept(
            waiting=(job.id for job in waiting),
            stopping=(run.job for run in runs if run.phase == Run.Phase.STOPPING),
        )
        return model.Snapshot(
            taken_at=now.timestamp(),
            nodes=ground.nodes,
            free=ground.free((seat.node, seat.slots) for mine in seats.values() for seat in mine),
            waiting=waiting,
            running=tuple(_running(run, seats[run.pk], stopped) for run in runs if run.pk in seats),
            teams=_teams(),
            policy=policy,
            usage=usage.amounts(_held(runs, seats), half_life_s=policy.half_life_s, now=now),
            claims=claims,
            promises=promises,
            user_stops=stopped.users,
            moves_lately=stopped.moves,
        )


def of_hardware(*, now: datetime) -> model.Snapshot:
    """Only what decides whether a request could ever run: nodes, teams and the policy."""
    ground = machines(now=now)
    return model.Snapshot(
        taken_at=now.timestamp(), nodes=ground.nodes, free=ground.free(()), teams=_teams(),
        policy=policy_of(in_force()),
    )  # fmt: skip


@contextmanager
def _steady() -> Iterator[None]:
    """What is read inside belongs together: nobody is seen both waiting and running, and nothing counts twice."""
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@lru_cache(maxsize=10_000)
def request(nodes: int, gpus_per_node: int, gpu_type: str) -> model.Request:
    """One object for each shape: thousands of jobs share a few dozen, and the planner looks at each once."""
    return model.Request(gpus=nodes * gpus_per_node, nodes=nodes, gpu_types=(gpu_type,) if gpu_type else ())


def core_job(job: Job) -> model.Job:
    """A job as the planner sees it before it is a row."""
    return model.Job(
        id=job.pk or 0,
        version=job.version,
        team=job.team.name,
        user=job.user.email,
        tier=TIER[job.tier],
        submitted_at=job.submitted_at.timestamp(),
        request=request(job.nodes, job.gpus_per_node, job.gpu_type),
        limit_s=job.limit_s,
        preemptible=job.tier != Job.Tier.PRODUCTION,
    )


def _waiting(stopped: Stopped) -> tuple[model.Job, ...]:
    rows = Job.objects.filter(phase=Job.Phase.WAITING).order_by("submitted_at", "pk")
    found = rows.values_list(
        "pk", "version", "team__name", "user__email", "tier", Seconds("submitted_at"), "nodes", "gpus_per_node",
        "gpu_type", "limit_s", "stops",
    )  # fmt: skip
    pasts, never = _pasts(), _Past(0.0, None, None)
    return tuple(
        model.Job(
            pk, version, team, user, TIER[tier], submitted_at, request(nodes, gpus, kind), limit_s,
            preemptible=tier != Job.Tier.PRODUCTION, stops=stops, stops_today=stopped.jobs[pk],
            seen_s=pasts.get(pk, never).longest_s, stopped_at=pasts.get(pk, never).stopped_at,
            ran_until=pasts.get(pk, never).ran_until,
        )
        for pk, version, team, user, tier, submitted_at, nodes, gpus, kind, limit_s, stops in found
    )  # fmt: skip


class _Past(NamedTuple):
    """What is known of a waiting job that ran before."""

    longest_s: float  # without coming to its end
    stopped_at: float | None  # when it was last stopped for others
    ran_until: float | None  # when its last run ended, whatever ended it


def _pasts() -> dict[int, _Past]:
    rows = Run.objects.filter(job__phase=Job.Phase.WAITING, started_at__isnull=False, ended_at__isnull=False)
    found = rows.order_by().values_list("job_id").annotate(
        longest=Max(F("ended_at") - F("started_at")),
        last=Max(Seconds("ended_at"), filter=Q(receipt__isnull=False)),
        until=Max(Seconds("ended_at")),
    )  # fmt: skip
    return {job: _Past(longest.total_seconds(), last, until) for job, longest, last, until in found}


class _Run(NamedTuple):
    """What the planner needs of a live run. Whole rows would carry every job's command."""

    pk: int
    phase: str
    created_at: float
    started_at: float | None
    asked_at: float | None
    submitted_at: float
    job: int
    version: int
    team: str
    user: str
    tier: str
    nodes: int
    gpus_per_node: int
    gpu_type: str
    limit_s: int | None
    stops: int
    kind: str  # of the GPUs it holds


def _runs() -> list[_Run]:
    rows = Run.objects.exclude(phase=Run.Phase.ENDED).order_by("pk")
    moments = ("created_at", "started_at", "asked_at", "job__submitted_at")
    about_job = ("version", "team__name", "user__email", "tier", "nodes", "gpus_per_node", "gpu_type",
                 "limit_s", "stops")  # fmt: skip
    found = rows.values_list(
        "pk", "phase", *map(Seconds, moments), "job_id", *(f"job__{name}" for name in about_job),
        Max("seats__node__gpu_type"),
    )  # fmt: skip
    return [_Run(*row) for row in found]


def _seats() -> dict[int, list[model.Seat]]:
    """What each run holds now, by run: a row for each of its nodes."""
    rows = Hold.objects.filter(released_at=None).values_list("run_id", "gpu__node_id")
    found: dict[int, list[model.Seat]] = defaultdict(list)
    for run, node, slots in rows.annotate(slots=ArrayAgg("gpu__slot", order_by="gpu__slot")).order_by(
        "run_id", "gpu__node_id"
    ):
        found[run].append(model.Seat(node, tuple(slots)))
    return dict(found)


def _running(run: _Run, seats: Sequence[model.Seat], stopped: Stopped) -> model.Running:
    began = run.started_at or run.created_at
    return model.Running(
        job=run.job,
        team=run.team,
        tier=TIER[run.tier],
        gpu_type=run.kind,
        seats=tuple(seats),
        request=request(run.nodes, run.gpus_per_node, run.gpu_type),
        started_at=began,
        user=run.user,
        submitted_at=run.submitted_at,
        version=run.version,
        ends_by=began + run.limit_s if run.limit_s else None,
        preemptible=run.tier != Job.Tier.PRODUCTION,
        stops=run.stops,
        stops_today=stopped.jobs[run.job],
        stopping=run.phase == Run.Phase.STOPPING,
        asked_at=run.asked_at,
    )


def _held(runs: Sequence[_Run], seats: dict[int, list[model.Seat]]) -> Iterator[usage.Held]:
    """A run's holds begin with it; those it gave back meanwhile are found among the released."""
    for run in runs:
        gpus = sum(len(seat.slots) for seat in seats.get(run.pk, ()))
        if gpus:
            yield (run.team, run.user), gpus, run.created_at


def _teams() -> tuple[model.Team, ...]:
    shares: dict[int, dict[str, model.Share]] = defaultdict(dict)
    for quota in Quota.objects.order_by("gpu_type"):
        shares[quota.team_id][quota.gpu_type] = quota.share
    rows = list(Team.objects.order_by("name").values_list("pk", "name", "parent_id", "weight", "priority"))
    names = {pk: name for pk, name, *_ in rows}
    return tuple(
        model.Team(name, names.get(above), shares[pk], weight, priority)
        for pk, name, above, weight, priority in rows
    )
