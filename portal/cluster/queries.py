"""Reads about machines: the inventory, and what a page needs of a node."""

from datetime import datetime

from django.db.models import Count, Prefetch, Q, QuerySet

from portal.cluster.models import SILENT_AFTER, Gpu, Node
from portal.errors import NotFound


def inventory() -> QuerySet[Node]:
    """Every node with its GPUs in slot order, in the order people read: cluster, rack, name."""
    gpus = Prefetch("gpus", queryset=Gpu.objects.filter(retired_at=None).order_by("slot"))
    return (
        Node.objects.select_related("pool__cluster", "drained_by", "approved_by")
        .prefetch_related(gpus)
        .order_by("pool__cluster__name", "block", "rack", "name")
    )


def approved() -> QuerySet[Node]:
    """The approved nodes for the map, without the long inventories nobody reads there."""
    return inventory().filter(approved_at__isnull=False).defer("hardware", "hardware_reported")


def pending() -> QuerySet[Node]:
    """Nodes that wait for an administrator, with what they report."""
    return Node.objects.filter(approved_at=None, expelled_at=None).select_related("pool").order_by("name")


def node_named(name: str) -> Node:
    """The node of this name, with its GPUs."""
    node = inventory().filter(name=name).first()
    if node is None:
        raise NotFound(f"There is no node named {name}.")
    return node


def gpu_types() -> list[str]:
    """The types that approved nodes have, for forms."""
    approved = Node.objects.filter(approved_at__isnull=False)
    return sorted(approved.order_by().values_list("gpu_type", flat=True).distinct())


def silent(now: datetime) -> QuerySet[Node]:
    """Approved nodes that are not lost but have not been heard of for a while."""
    return Node.objects.filter(
        Q(last_seen_at=None) | Q(last_seen_at__lt=now - SILENT_AFTER), approved_at__isnull=False, lost_at=None
    )


def pending_count() -> int:
    """How many nodes wait for an administrator."""
    counted = Node.objects.filter(approved_at=None, expelled_at=None).aggregate(n=Count("id"))
    return int(counted["n"])
