"""Reads about agents: who is asking, and all that a node should be running."""

import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from portal.agents.keys import http_token
from portal.agents.models import Refusal
from portal.cluster.models import Node
from portal.errors import NotFound
from portal.jobs.models import Run, Seat
from portal.jobs.spec import GRACE_S
from scheduler.wire import RunWanted

KNOCK_AFTER = timedelta(seconds=10)


def node_of(token: str) -> Node | None:
    """The approved node whose HTTP token this is."""
    name = token.removeprefix("node_").rpartition("_")[0]
    node = Node.objects.filter(name=name, approved_at__isnull=False).first() if name.isprintable() else None
    if node is None or not hmac.compare_digest(http_token(node).encode(), token.encode()):
        return None
    return node


def live_seats(node_ids: Iterable[int]) -> QuerySet[Seat]:
    """What these nodes hold now."""
    return Seat.objects.filter(node__in=node_ids).exclude(phase=Seat.Phase.ENDED).select_related("run")


def wanted(node_ids: Iterable[int]) -> dict[int, tuple[RunWanted, ...]]:
    """For each node the whole set of runs it should have; one query."""
    found: dict[int, list[RunWanted]] = {}
    for seat in live_seats(node_ids).defer("spec").order_by("run_id"):
        want = "stop" if seat.run.phase == Run.Phase.STOPPING else "run"
        found.setdefault(seat.node_id, []).append(
            RunWanted(seat.run_id, seat.run.epoch, seat.digest, want=want, grace_s=grace_s(seat.run))
        )
    return {node: tuple(runs) for node, runs in found.items()}


def grace_s(run: Run) -> float:
    """How long its ranks have to end by themselves."""
    return float(GRACE_S if run.grace_s is None else run.grace_s)


def to_knock_at(now: datetime) -> list[int]:
    """Nodes that have spoken once and are quiet now: the answer to their last beat may be lost."""
    quiet = Node.objects.filter(approved_at__isnull=False, boot__gt=0, last_seen_at__lt=now - KNOCK_AFTER)
    return list(quiet.values_list("pk", flat=True))


def with_stopping_runs() -> list[int]:
    """Nodes that must hear soon that a run is to stop."""
    seats = Seat.objects.filter(~Q(phase=Seat.Phase.ENDED), run__phase=Run.Phase.STOPPING)
    return list(seats.values_list("node_id", flat=True).distinct())


def seat_of(node: Node, run: int) -> Seat:
    """The node's own live seat of a run; other nodes' seats do not exist for it."""
    seat = (
        Seat.objects.filter(node=node, run=run).exclude(phase=Seat.Phase.ENDED).select_related("run").first()
    )
    if seat is None:
        raise NotFound(f"Node {node.name} has no seat in run {run}.")
    return seat


def refusals(names: Iterable[str], since: datetime) -> dict[str, int]:
    """How many beats were refused of each node since then."""
    counted: dict[str, int] = {}
    for name, count in Refusal.objects.filter(node_name__in=names, minute__gte=since).values_list(
        "node_name", "count"
    ):
        counted[name] = counted.get(name, 0) + count
    return counted


def refused(name: str, since: datetime) -> list[Refusal]:
    """The refused beats of one node since then, by minute and cause, newest first."""
    return list(Refusal.objects.filter(node_name=name, minute__gte=since).order_by("-minute", "code")[:20])
