"""The planner's order as people see it: tier before arrival before number, and who is ahead of whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, Sum, Value, When

from portal.accounts.queries import Standing
from portal.jobs.listing import LIVE, with_newest_run
from portal.jobs.models import Job
from scheduler.core.explain import sentence
from scheduler.core.reasons import Reason

TIERS = (Job.Tier.PRODUCTION, Job.Tier.STANDARD, Job.Tier.OPPORTUNISTIC)  # who goes first
PLACED = tuple(phase for phase in LIVE if phase != Job.Phase.WAITING)
STRETCH = 100  # rows shown at once
GPUS = Sum(F("nodes") * F("gpus_per_node"))
RANK = Case(
    *[When(tier=tier, then=Value(place)) for place, tier in enumerate(TIERS)], output_field=IntegerField()
)


def in_order(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """The same order as scheduler.core.order.first_come."""
    return jobs.annotate(tier_rank=RANK).order_by("tier_rank", "submitted_at", "pk")


def before(job: Job) -> QuerySet[Job]:
    """The waiting jobs that the planner looks at before this one, and that accept a GPU type it accepts."""
    higher = TIERS[: TIERS.index(Job.Tier(job.tier))]
    earlier = Q(submitted_at__lt=job.submitted_at) | Q(submitted_at=job.submitted_at, pk__lt=job.pk)
    jobs = Job.objects.filter(phase=Job.Phase.WAITING).filter(Q(tier__in=higher) | Q(earlier, tier=job.tier))
    return jobs.filter(gpu_type__in=(job.gpu_type, "")) if job.gpu_type else jobs


@dataclass(frozen=True, slots=True)
class Ahead:
    """Those of one team and tier that are ahead: counted; named only where the reader may see them."""

    team: str
    tier: str
    jobs: int
    gpus: int
    named: tuple[Job, ...] = ()


def ahead(job: Job, standing: Standing, *, names: int = 20) -> list[Ahead]:
    """Who is ahead of a waiting job, by tier and team; two queries, however long the queue is."""
    counted = before(job).values("team", "team__name", "tier").annotate(jobs=Count("pk"), wanted=GPUS)
    mine = standing.teams("job.see")
    seen = before(job) if mine is None else before(job).filter(Q(team__in=mine) | Q(user=standing.user))
    named: dict[tuple[int, str], list[Job]] = {}
    for one in in_order(seen).select_related("user").defer("command", "env")[:names]:
        named.setdefault((one.team_id, one.tier), []).append(one)
    rows = [
        Ahead(row["team__name"], row["tier"], row["jobs"], row["wanted"], tuple(named.get((row["team"], row["tier"]), ())))
        for row in counted.order_by()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (TIERS.index(Job.Tier(row.tier)), row.team))


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
    why: str = ""

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
    """Four queries, however long the queue is: all places, one stretch of rows, what is placed, the totals."""
    line = in_order(Job.objects.filter(phase=Job.Phase.WAITING)).values_list("pk", "team_id", "user_id")
    places = [(place, *row) for place, row in enumerate(line, 1)]
    seen, me = standing.teams("job.see"), standing.user.pk
    sets = {
        "all": places,
        "teams": [one for one in places if seen is None or one[2] in seen or one[3] == me],
        "mine": [one for one in places if one[3] == me],
    }
    shown = {pk: place for place, pk, *_ in sets[who][begin : begin + STRETCH]}
    waiting = _readable(Job.objects.filter(pk__in=shown))
    placed = _readable(Job.objects.filter(phase__in=PLACED))
    return Queue(
        waiting=[_row(job, standing, now, shown[job.pk]) for job in waiting],
        placed=[_row(job, standing, now) for job in placed[:STRETCH]],
        counts={name: len(rows) for name, rows in sets.items()} | {"shown": len(sets[who])},
        begin=begin,
        first_mine=sets["mine"][0][0] if sets["mine"] else 0,
        totals=totals(),
    )


def _readable(jobs: QuerySet[Job]) -> QuerySet[Job]:
    return with_newest_run(in_order(jobs)).select_related("team", "user").defer("command", "env")


def _row(job: Job, standing: Standing, now: datetime, place: int = 0) -> Row:
    known = standing.may("job.see", team_id=job.team_id, owner_id=job.user_id)
    mine = job.user_id == standing.user.pk
    why = (
        sentence(Reason(job.reason), job.reason_numbers, now=now, yours=mine) if place and job.reason else ""
    )
    return Row(job, known, mine, place, why)
