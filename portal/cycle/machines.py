"""Nodes and their GPUs as the planner sees them: where they stand, what they have, and which slots are free."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Min
from numpy.typing import NDArray

from portal.cluster.models import Gpu, Node, Pool
from portal.journal.models import Entry
from scheduler.core import model

MIB_PER_GIB = 1024
LEMON_FOR = timedelta(days=7)  # how long the loss of a node counts against it
Place = tuple[int, int]  # node and slot


@dataclass(frozen=True, slots=True)
class Machines:
    """Every approved node in the order of the tree, and its GPUs by slot."""

    nodes: tuple[model.Node, ...]
    missing: frozenset[Place]  # approved GPUs that their node no longer reports

    def free(self, held: Iterable[tuple[int, Iterable[int]]]) -> NDArray[np.bool_]:
        """[row, slot]: the GPU is there and nobody holds it."""
        width = max((len(node.nvlink) for node in self.nodes), default=0)
        free = np.zeros((len(self.nodes), width), dtype=np.bool_)
        for row, node in enumerate(self.nodes):
            free[row, : len(node.nvlink)] = [domain >= 0 for domain in node.nvlink]
        rows = {node.id: row for row, node in enumerate(self.nodes)}
        for node_id, slots in held:
            if node_id in rows:  # a node that was put out may still have holds
                free[rows[node_id], list(slots)] = False
        for node_id, slot in self.missing:
            free[rows[node_id], slot] = False
        return free


@dataclass(frozen=True, slots=True)
class _Gpus:
    domains: Mapping[int, int]  # by slot
    memory_mib: int


def machines(*, now: datetime) -> Machines:
    """Four queries; two more while a node reports other hardware than was approved."""
    rows = list(_nodes())
    pools = {pool.pk: pool for pool in Pool.objects.select_related("cluster")}
    gpus, lemons = _gpus(), _lemons(now)
    for row in rows:
        row.pool = pools[
            row.pool_id
        ]  # shared: a pool and a cluster for each node would take most of the time
    nodes = tuple(_node(row, gpus.get(row.pk), lemons.get(row.pk, 0), now) for row in rows)
    return Machines(nodes, _missing([row.pk for row in rows if row.hardware_changed]))


def _nodes() -> Iterable[Node]:
    """Without what is large and says nothing about places."""
    rows = Node.objects.filter(approved_at__isnull=False).only(
        "name", "pool_id", "block", "rack", "gpu_type", "cpus", "memory_mib", "hardware_digest",
        "hardware_seen", "approved_at", "drained_at", "lost_at", "last_seen_at",
    )  # fmt: skip
    return rows.order_by("pool__cluster__name", "block", "rack", "name")


def _gpus() -> dict[int, _Gpus]:
    """By node; the database gathers them, because a row for each GPU costs more than all the rest."""
    rows = Gpu.objects.filter(retired_at=None).order_by().values_list("node_id")
    found = rows.annotate(slots=ArrayAgg("slot"), domains=ArrayAgg("nvlink_domain"), memory=Min("memory_mib"))
    return {
        node: _Gpus(dict(zip(slots, domains, strict=True)), memory) for node, slots, domains, memory in found
    }


def _lemons(now: datetime) -> dict[int, int]:
    """How often each node was lost lately: those that fail again and again are used last."""
    losses = Entry.objects.filter(kind=Entry.Kind.NODE, verb="lost", at__gte=now - LEMON_FOR).order_by()
    return dict(losses.values_list("subject").annotate(n=Count("pk")))


def _missing(changed: list[int]) -> frozenset[Place]:
    """Whatever was placed on a GPU that is gone would fail at its start."""
    if not changed:
        return frozenset()
    told = Node.objects.filter(pk__in=changed).values_list("pk", "hardware_reported")
    there = {(node, gpu["uuid"]) for node, hardware in told for gpu in hardware["gpus"]}
    rows = Gpu.objects.filter(retired_at=None, node__in=changed).values_list("node_id", "slot", "uuid")
    return frozenset((node, slot) for node, slot, uuid in rows if (node, uuid) not in there)


def _node(row: Node, gpus: _Gpus | None, lemon: int, now: datetime) -> model.Node:
    state = row.state(now)
    domains: Mapping[int, int] = gpus.domains if gpus else {}
    return model.Node(
        id=row.pk,
        name=row.name,
        cluster=row.pool.cluster.name,
        pool=row.pool.name,
        block=row.block,
        rack=row.rack,
        gpu_type=row.gpu_type,
        # A slot without a GPU gets a domain of its own; it is never free.
        nvlink=tuple(domains.get(slot, -1 - slot) for slot in range(max(domains, default=-1) + 1)),
        usable=state == Node.State.READY,
        why_not="" if state == Node.State.READY else state.value,
        gpu_memory_gib=gpus.memory_mib / MIB_PER_GIB if gpus else None,
        cpus=float(row.cpus) or None,
        memory_gib=row.memory_mib / MIB_PER_GIB or None,
        lemon=lemon,
    )
