"""Reads for the frame around every page and for the home page: what is mine, and what needs a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, F, Prefetch, Q, QuerySet, Sum, When

from portal.accounts.models import Team, User
from portal.accounts.queries import Standing
from portal.cluster.models import SILENT_AFTER, Cluster, Node
from portal.jobs.listing import with_newest_run
from portal.jobs.models import OVER, Job, Rank, Run, Seat
from portal.jobs.queries import seen_by

LIVE = [phase for phase in Job.Phase.values if phase not in OVER]
FAILED_WITHIN = timedelta(hours=24)
JOBS_SHOWN = 20
FAILURES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers beside the navigation."""

    mine: int  # my jobs that are not over
    waiting: int  # everybody's


def counts(user: User) -> Counts:
    """One query over the jobs that are not over: a short stretch of an index, however long the history is."""
    found = Job.objects.filter(phase__in=LIVE).aggregate(
        mine=Count("id", filter=Q(user=user)), waiting=Count("id", filter=Q(phase=Job.Phase.WAITING))
    )
    return Counts(**found)


def cluster_names() -> list[str]:
    """For the line at the foot of the side bar."""
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))


def live_jobs(standing: Standing, *, of_team: bool) -> QuerySet[Job]:
    """One's own jobs that are not over, or all that one may see; what holds GPUs first, then the oldest."""
    jobs = seen_by(standing).filter(phase__in=LIVE)
    if not of_team:
        jobs = jobs.filter(user=standing.user)
    waits = Case(When(phase=Job.Phase.WAITING, then=1), default=0)
    return with_newest_run(jobs).defer("command", "env").order_by(waits, "submitted_at", "pk")


@dataclass(frozen=True, slots=True)
class Totals:
    """Jobs that are not over and the GPUs they hold or want; however many of them a page shows."""

    placed: int
    held: int
    waiting: int
    wanted: int

    @property
    def all(self) -> int:
        return self.placed + self.waiting


def totals(jobs: QuerySet[Job]) -> Totals:
    """One query."""
    gpus, waits = F("nodes") * F("gpus_per_node"), Q(phase=Job.Phase.WAITING)
    found = jobs.order_by().aggregate(
        placed=Count("pk", filter=~waits),
        held=Sum(gpus, filter=~waits, default=0),
        waiting=Count("pk", filter=waits),
        wanted=Sum(gpus, filter=waits, default=0),
    )
    return Totals(**found)


def places(jobs: Iterable[Job]) -> dict[int, list[str]]:
    """On which nodes these jobs sit, by job; one query."""
    seats = Seat.objects.filter(run__job__in=[job.pk for job in jobs]).exclude(phase=Seat.Phase.ENDED)
    found: dict[int, list[str]] = {}
    for job, node in seats.order_by("node_rank").values_list("run__job_id", "node__name"):
        found.setdefault(job, []).append(node)
    return found


def failures(user: User, *, now: datetime) -> list[Job]:
    """One's newest failures of the last day that one has not tried again, each with how its runs ended."""
    wrong = Rank.objects.filter(Q(exit_code__gt=0) | Q(signal__gt=0)).order_by("ended_at", "rank")
    runs = Prefetch(
        "runs", Run.objects.order_by("-epoch").prefetch_related(Prefetch("ranks", wrong), "seats")
    )
    failed = Job.objects.filter(
        user=user, phase=Job.Phase.FAILED, ended_at__gte=now - FAILED_WITHIN, clones=None
    )
    return list(failed.prefetch_related(runs).defer("command", "env")[:FAILURES_SHOWN])


def start_again(user: User) -> list[Job]:
    """The shapes one ran last, each once: jobs that are over, the newest of each name."""
    over = Job.objects.filter(user=user, phase__in=OVER).defer("command", "env")[:40]
    newest: dict[str, Job] = {}
    for job in over:
        newest.setdefault(job.name, job)
    return list(newest.values())[:4]


def nodes_in_need(*, now: datetime) -> QuerySet[Node]:
    """Nodes an administrator should look at: new, lost, silent, changed, trespassed on, or with findings."""
    silent = Q(last_seen_at=None) | Q(last_seen_at__lt=now - SILENT_AFTER)
    changed = ~Q(hardware_seen="") & ~Q(hardware_seen=F("hardware_digest"))
    told = ~Q(latest__trespass=[]) & Q(latest__has_key="trespass")
    told |= ~Q(latest__findings=[]) & Q(latest__has_key="findings")
    return (
        Node.objects.filter(
            silent | changed | told | Q(approved_at=None, expelled_at=None) | Q(lost_at__isnull=False)
        )
        .select_related("pool__cluster", "drained_by")
        .order_by("name")
    )


def teams_to_show(standing: Standing) -> list[int]:
    """Whose quotas somebody came to see: their own teams'; for those without one, the top of the tree."""
    own = standing.member_of | standing.lead_of
    if own or not (standing.user.is_administrator or standing.user.is_finance):
        return sorted(own)
    return list(Team.objects.filter(parent=None).order_by("name").values_list("pk", flat=True))
