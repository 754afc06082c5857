"""The planner's order as people see it: everybody's place in the newest plan, and who is ahead of whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, Sum, Value, When

from portal.accounts.queries import Standing
from portal.jobs.listing import LIVE, with_newest_run
from portal.jobs.models import Job, Line
from portal.jobs.waits import Wait, waits_of
from scheduler.core.reasons import Reason

TIERS = (Job.Tier.PRODUCTION, Job.Tier.STANDARD, Job.Tier.OPPORTUNISTIC)  # who goes first
PLACED = tuple(phase for phase in LIVE if phase != Job.Phase.WAITING)
TURN = {tier.value: place for place, tier in enumerate(TIERS)}
STRETCH = 100  # rows shown at once
RANK = Case(
    *[When(tier=tier, then=Value(place)) for place, tier in enumerate(TIERS)], output_field=IntegerField()
)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Those of one team and tier that are ahead: counted; named only where the reader may see them."""

    team: str
    tier: str
    jobs: int
    gpus: int
    named: tuple[Job, ...] = ()


class Waits(NamedTuple):
    """As much of a waiting job as its place in the order needs."""

    pk: int
    team: int
    team_name: str
    user: int
    tier: str
    gpu_type: str
    gpus: int
    reason: str
    submitted_at: datetime


def line() -> list[Waits]:
    """Everybody who waits: whose place is being made, the newest plan's order, the new, the shut out; two queries."""
    row = Line.objects.filter(pk=Line.ONLY).first()
    place = {pk: number for number, pk in enumerate(row.jobs if row else ())}
    rows = Job.objects.filter(phase=Job.Phase.WAITING).order_by().values_list(
        "pk", "team_id", "team__name", "user_id", "tier", "gpu_type", F("nodes") * F("gpus_per_node"), "reason",
        "submitted_at",
    )  # fmt: skip
    found = [Waits(*row) for row in rows]
    return sorted(found, key=lambda one: (_stretch(one, place), place.get(one.pk, 0), _arrival(one)))


def _stretch(one: Waits, place: Mapping[int, int]) -> int:
    if one.reason == Reason.STOPPING_OTHERS:
        return 0
    if one.pk in place:
        return 1
    return 3 if one.reason else 2


def _arrival(one: Waits) -> tuple[int, datetime, int]:
    return TURN[one.tier], one.submitted_at, one.pk


def before(job: Job) -> list[Waits]:
    """Who is looked at before this one and accepts a GPU type it accepts; nobody where order is not what it waits for."""
    everybody = line()
    mine = next((number for number, one in enumerate(everybody) if one.pk == job.pk), 0)
    ahead = [one for one in everybody[:mine] if one.reason != Reason.STOPPING_OTHERS]
    return [one for one in ahead if not job.gpu_type or one.gpu_type in (job.gpu_type, "")]


def ahead(job: Job, standing: Standing, *, names: int = 20) -> list[Ahead]:
    """Who is ahead of a waiting job, by tier and team; three queries, however long the queue is."""
    if job.reason and not job.ahead_jobs:
        return []
    found = before(job)
    mine, me = standing.teams("job.see"), standing.user.pk
    seen = [one.pk for one in found if mine is None or one.team in mine or one.user == me][:names]
    rows = {
        one.pk: one for one in Job.objects.filter(pk__in=seen).select_related("user").defer("command", "env")
    }
    groups: dict[tuple[int, str, str], list[Waits]] = {}
    for one in found:
        groups.setdefault((TURN[one.tier], one.team_name, one.tier), []).append(one)
    return [
        Ahead(
            team, tier, len(each), sum(one.gpus for one in each),
            tuple(rows[one.pk] for one in each if one.pk in rows),
        )
        for (_, team, tier), each in sorted(groups.items())
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Totals:
    """What the queue holds in all."""

    waiting: int
    wanted: int  # GPUs
    oldest: datetime | None
    placed: int  # starting, running or stopping
    held: int  # GPUs asked for by those


def totals() -> Totals:
    """One query over the jobs that are not over."""
    is_waiting = Q(phase=Job.Phase.WAITING)
    found = Job.objects.filter(phase__in=LIVE).aggregate(
        waiting=Count("pk", filter=is_waiting),
        wanted=Sum(F("nodes") * F("gpus_per_node"), filter=is_waiting),
        oldest=Min("submitted_at", filter=is_waiting),
        placed=Count("pk", filter=~is_waiting),
        held=Sum(F("nodes") * F("gpus_per_node"), filter=~is_waiting),
    )
    return Totals(
        waiting=found["waiting"],
        wanted=found["wanted"] or 0,
        oldest=found["oldest"],
        placed=found["placed"],
        held=found["held"] or 0,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A job in the queue, as far as the reader may know it."""

    job: Job
    known: bool  # name, owner and page are open to the reader
    mine: bool
    place: int = 0  # among those that wait, from 1
    wait: Wait | None = None

    @property
    def ends_by(self) -> datetime | None:
        """When its limit ends the run."""
        began: datetime | None = getattr(self.job, "began_at", None)
        return began + timedelta(seconds=self.job.limit_s) if began and self.job.limit_s else None


@dataclass(frozen=True, slots=True)
class Queue:
    """Some of the queue in order, and how much there is of it."""

    waiting: Sequence[Row]
    placed: Sequence[Row]
    counts: dict[str, int]  # of those that wait: all, of my teams, mine
    begin: int
    first_mine: int  # the place of the reader's first waiting job, or 0
    totals: Totals

    @property
    def first_shown(self) -> int:
        return self.waiting[0].place if self.waiting else 0

    @property
    def preceding(self) -> int:
        return max(0, self.begin - STRETCH)

    @property
    def following(self) -> int:
        """Where the next stretch begins, or 0."""
        end = self.begin + len(self.waiting)
        return end if end < self.counts["shown"] else 0


def queue(standing: Standing, *, who: str, begin: int, now: datetime) -> Queue:
    """Six queries, however long the queue is: all places, one stretch of rows, what is placed, the totals."""
    places = list(enumerate(line(), 1))
    seen, me = standing.teams("job.see"), standing.user.pk
    sets = {
        "all": places,
        "teams": [each for each in places if seen is None or each[1].team in seen or each[1].user == me],
        "mine": [each for each in places if each[1].user == me],
    }
    shown = {one.pk: place for place, one in sets[who][begin : begin + STRETCH]}
    waiting = list(_readable(Job.objects.filter(pk__in=shown, phase=Job.Phase.WAITING)))
    waits = waits_of(waiting, standing, now=now)
    placed = _readable(Job.objects.filter(phase__in=PLACED)).annotate(tier_rank=RANK)
    return Queue(
        waiting=[
            _row(job, standing, shown[job.pk], waits.get(job.pk))
            for job in sorted(waiting, key=lambda job: shown[job.pk])
        ],
        placed=[_row(job, standing) for job in placed.order_by("tier_rank", "submitted_at", "pk")[:STRETCH]],
        counts={name: len(rows) for name, rows in sets.items()} | {"shown": len(sets[who])},
        begin=begin,
        first_mine=sets["mine"][0][0] if sets["mine"] else 0,
        totals=totals(),
    )


def _readable(jobs: QuerySet[Job]) -> QuerySet[Job]:
    return with_newest_run(jobs).select_related("team", "user").defer("command", "env")


def _row(job: Job, standing: Standing, place: int = 0, wait: Wait | None = None) -> Row:
    known = standing.may("job.see", team_id=job.team_id, owner_id=job.user_id)
    return Row(job, known, job.user_id == standing.user.pk, place, wait)
