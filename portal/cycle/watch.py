"""The watch: nodes that fell silent are lost, with brakes; runs over their limit are stopped."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q

from portal.accounts.models import User
from portal.agents.models import Listening
from portal.agents.queries import live_seats
from portal.cluster.models import SILENT_AFTER, Cluster, Node
from portal.jobs import runs
from portal.jobs.models import Run
from portal.journal.actions import note
from portal.journal.models import Entry

DEAF_AFTER = timedelta(seconds=10)


def silence_is_ours(*, now: datetime) -> bool:
    """Whether the portal itself is not hearing: then no silence says anything about a node."""
    row = Listening.objects.filter(pk=Listening.ONLY).first()
    return row is None or now - row.until > DEAF_AFTER


def braked(cluster: Cluster, *, now: datetime) -> int:
    """How many nodes fell silent within one time-out, when that is too many to be their own fault; else 0."""
    patience = timedelta(seconds=cluster.node_loss_s)
    just_lost = Q(lost_at__gt=now - patience)
    nodes = Node.objects.filter(just_lost | Q(lost_at=None), pool__cluster=cluster, approved_at__isnull=False)
    # Counted well before the first of them is due: those of one dead switch stop within a beat of each other.
    quiet = Q(last_seen_at__lt=now - min(SILENT_AFTER, patience / 2))
    count = nodes.aggregate(quiet=Count("pk", filter=just_lost | quiet), all=Count("pk"))
    return int(count["quiet"]) if count["quiet"] > max(3, count["all"] // 5) else 0


def lose_the_silent(*, now: datetime) -> list[Node]:
    """Declare lost who stayed silent for the time-out while we were listening all along."""
    row = Listening.objects.filter(pk=Listening.ONLY).first()
    if row is None or now - row.until > DEAF_AFTER:
        return []
    lost = []
    for cluster in Cluster.objects.all():
        patience = timedelta(seconds=cluster.node_loss_s)
        if now - row.since < patience or braked(cluster, now=now):
            continue
        silent = Node.objects.filter(
            pool__cluster=cluster, approved_at__isnull=False, lost_at=None, last_seen_at__lt=now - patience
        )
        why = f"has not been heard of for {patience.total_seconds():.0f} s"
        lost += [node for node in silent if lose(node, now=now, why=why)]
    return lost


def lose(node: Node, *, now: datetime, why: str, by: User | None = None) -> bool:
    """The node is lost and its runs move on; call it in the cycle's turn. False where a beat came in between."""
    with transaction.atomic():
        # Compare-and-set on the last beat: one that arrives now saves the node.
        if not Node.objects.filter(pk=node.pk, lost_at=None, last_seen_at=node.last_seen_at).update(
            lost_at=now
        ):
            return False
        why = f"{node.name} {why}"
        note(about=(Entry.Kind.NODE, node.pk), verb="lost", actor=by, now=now, sentence=f"{why}: lost")
        for seat in live_seats([node.pk]).defer("spec"):
            runs.excuse(seat=seat)
            runs.lose(seat=seat, now=now, why=f"{why}.")
    return True


def stop_the_overdue(*, now: datetime) -> int:
    """A run that reached its time limit is stopped."""
    stopped = 0
    limited = Run.objects.filter(phase=Run.Phase.RUNNING, job__limit_s__isnull=False).select_related("job")
    for run in limited.defer("job__command", "job__env"):
        if run.started_at and now - run.started_at >= timedelta(seconds=run.job.limit_s or 0):
            stopped += runs.begin_to_end(run=run, cause=Run.Cause.LIMIT, now=now)
    return stopped
