"""Gangs to rows, many at once: runs, their seats with specs, their ranks, and the holds that book the GPUs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, inf
from typing import Any

from django.db import connection
from django.db.models import F, Max

from portal import words
from portal.jobs.models import Job, Run, Seat
from portal.jobs.spec import Place, spec
from portal.journal.actions import entry, note_all
from portal.journal.models import Entry
from scheduler.wire import digest

NAMES_SHOWN = 8
Caps = Mapping[str, float]  # the longest limit of each tier, in seconds


@dataclass(frozen=True, slots=True)
class Gang:
    """A job that starts now, and its places in the order of the node ranks."""

    job: Job
    places: Sequence[Place]
    on_recall: bool


def seat(gangs: Sequence[Gang], *, names: dict[int, str], caps: Caps, now: datetime) -> None:
    """A handful of statements for all of them; the database refuses them together or not at all."""
    _move_on(gang.job.pk for gang in gangs)
    _limit(gangs, caps, now)
    runs = _make_runs(gangs, now)
    seats = _make_seats(gangs, runs)
    _hold(gangs, runs, now)
    _make_ranks(gangs, seats)
    note_all(_told(gang, run, names, now) for gang, run in zip(gangs, runs, strict=True))


def _move_on(jobs: Iterable[int]) -> None:
    Job.objects.filter(pk__in=list(jobs)).update(
        phase=Job.Phase.STARTING, version=F("version") + 1, reason="", reason_numbers={}, reason_since=None
    )


def _limit(gangs: Sequence[Gang], caps: Caps, now: datetime) -> None:
    """Who starts without a limit in a tier that has a longest one gets that: the plan already counts on it."""
    for tier, cap in caps.items():
        mine = [gang.job.pk for gang in gangs if gang.job.tier == tier and gang.job.limit_s is None]
        if cap == inf or not mine:
            continue
        Job.objects.filter(pk__in=mine).update(limit_s=ceil(cap))
        sentence = f"Its time limit is {words.duration(ceil(cap))}, the longest that {tier} jobs may have"
        note_all(
            entry(about=(Entry.Kind.JOB, job), verb="limited", now=now, sentence=sentence) for job in mine
        )


def _make_runs(gangs: Sequence[Gang], now: datetime) -> list[Run]:
    earlier = Run.objects.filter(job__in=[gang.job.pk for gang in gangs]).order_by()
    last = dict(earlier.values_list("job_id").annotate(last=Max("epoch")))
    return Run.objects.bulk_create(
        Run(job=gang.job, epoch=last.get(gang.job.pk, 0) + 1, created_at=now, on_recall=gang.on_recall)
        for gang in gangs
    )


def _make_seats(gangs: Sequence[Gang], runs: Sequence[Run]) -> list[list[Seat]]:
    made = [
        [_seat(gang, run, node_rank) for node_rank in range(len(gang.places))]
        for gang, run in zip(gangs, runs, strict=True)
    ]
    Seat.objects.bulk_create([one for mine in made for one in mine])
    return made


def _seat(gang: Gang, run: Run, node_rank: int) -> Seat:
    text = spec(job=gang.job, run=run, places=gang.places, node_rank=node_rank)
    node = gang.places[node_rank].node_id
    return Seat(run=run, node_id=node, node_rank=node_rank, spec=text, digest=digest(text))


# Thousands of rows: a statement with an array for each column is several times faster than one with a
# parameter for each value.
HOLD = """
    INSERT INTO jobs_hold (run_id, gpu_id, held_from)
    SELECT run, gpu, %(now)s FROM unnest(%(runs)s::bigint[], %(gpus)s::bigint[]) AS held (run, gpu)
"""
RANK = """
    INSERT INTO jobs_rank (run_id, seat_id, rank, local_rank, gpu_id, state)
    SELECT run, seat, rank, local_rank, gpu, 'ordered'
      FROM unnest(%(runs)s::bigint[], %(seats)s::bigint[], %(ranks)s::int[], %(locals)s::int[], %(gpus)s::bigint[])
           AS made (run, seat, rank, local_rank, gpu)
"""


def _hold(gangs: Sequence[Gang], runs: Sequence[Run], now: datetime) -> None:
    held = [
        (run.pk, gpu.pk)
        for gang, run in zip(gangs, runs, strict=True)
        for place in gang.places
        for gpu in place.gpus
    ]
    _execute(HOLD, now=now, runs=[run for run, _ in held], gpus=[gpu for _, gpu in held])


def _make_ranks(gangs: Sequence[Gang], seats: Sequence[Sequence[Seat]]) -> None:
    rows = [
        (one.run_id, one.pk, each["rank"], each["local_rank"], gpu.pk)
        for gang, mine in zip(gangs, seats, strict=True)
        for one, place in zip(mine, gang.places, strict=True)
        for each, gpu in zip(one.spec["ranks"], place.gpus, strict=True)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    _execute(RANK, **dict(zip(("runs", "seats", "ranks", "locals", "gpus"), columns, strict=True)))


def _execute(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _told(gang: Gang, run: Run, names: dict[int, str], now: datetime) -> Entry:
    where = words.listed([names[place.node_id] for place in gang.places], most=NAMES_SHOWN)
    sentence = f"Run {run.epoch} given {gang.job.gpus} GPU{'s' * (gang.job.gpus > 1)} on {where}"
    return entry(
        about=(Entry.Kind.JOB, gang.job.pk), verb="placed", now=now, sentence=sentence, facts={"run": run.pk}
    )
