"""Rows to a Snapshot: everything the planner may know, in a handful of queries."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from portal.accounts.models import Team
from portal.cluster.models import Gpu, Node
from portal.jobs.models import Hold, Job
from portal.quotas.models import Quota
from scheduler.core import model

TIER: dict[str, model.Tier] = {
    Job.Tier.PRODUCTION: model.Tier.PRODUCTION,
    Job.Tier.STANDARD: model.Tier.STANDARD,
    Job.Tier.OPPORTUNISTIC: model.Tier.OPPORTUNISTIC,
}


def take(*, now: datetime) -> model.Snapshot:
    """Six queries, however many jobs and nodes there are; two more while a node reports other hardware."""
    nodes, gpus, holds = _nodes(), _gpus(), _live_holds()
    taken = {(hold.node, hold.slot) for hold in holds} | _missing(nodes)
    return model.Snapshot(
        taken_at=now,
        nodes=tuple(_node(node, gpus[node.pk], now) for node in nodes),
        free=_free(nodes, gpus, taken),
        waiting=_waiting(),
        running=_running(holds),
        teams=_teams(),
    )


def of_hardware(*, now: datetime) -> model.Snapshot:
    """Only what decides whether a request could ever run: nodes and teams."""
    nodes, gpus = _nodes(), _gpus()
    return model.Snapshot(
        taken_at=now,
        nodes=tuple(_node(node, gpus[node.pk], now) for node in nodes),
        free=_free(nodes, gpus, set()),
        teams=_teams(),
    )


def core_job(job: Job) -> model.Job:
    """A job as the planner sees it."""
    return model.Job(
        id=job.pk or 0,
        version=job.version,
        team=job.team.name,
        user=job.user.email,
        tier=TIER[job.tier],
        submitted_at=job.submitted_at,
        nodes=job.nodes,
        gpus_per_node=job.gpus_per_node,
        gpu_type=job.gpu_type,
        limit_s=job.limit_s,
    )


Domains = Mapping[int, Mapping[int, int]]  # by node and slot: the NVLink domain of the GPU there


class _Held(NamedTuple):
    """What the planner needs of a live hold. Whole rows would carry every node's readings, once per GPU."""

    node: int
    slot: int
    gpu_type: str
    run: int
    started_at: datetime | None
    created_at: datetime
    job: int
    team: str
    tier: str
    limit_s: int | None


def _nodes() -> list[Node]:
    """Without what is large and says nothing about places."""
    rows = Node.objects.filter(approved_at__isnull=False).select_related("pool__cluster")
    rows = rows.defer("hardware", "hardware_reported", "latest")
    return list(rows.order_by("pool__cluster__name", "block", "rack", "name"))


def _gpus() -> Domains:
    found: dict[int, dict[int, int]] = defaultdict(dict)
    rows = Gpu.objects.filter(retired_at=None).order_by()
    for node, slot, domain in rows.values_list("node_id", "slot", "nvlink_domain"):
        found[node][slot] = domain
    return found


def _missing(nodes: list[Node]) -> set[tuple[int, int]]:
    """Approved GPUs that their node no longer reports: whatever was placed on one would fail at its start."""
    changed = [node.pk for node in nodes if node.hardware_changed]
    if not changed:
        return set()
    told = Node.objects.filter(pk__in=changed).values_list("pk", "hardware_reported")
    there = {(node, gpu["uuid"]) for node, hardware in told for gpu in hardware["gpus"]}
    rows = Gpu.objects.filter(retired_at=None, node__in=changed).values_list("node_id", "slot", "uuid")
    return {(node, slot) for node, slot, uuid in rows if (node, uuid) not in there}


def _node(node: Node, gpus: Mapping[int, int], now: datetime) -> model.Node:
    state = node.state(now)
    return model.Node(
        id=node.pk,
        name=node.name,
        cluster=node.pool.cluster.name,
        pool=node.pool.name,
        block=node.block,
        rack=node.rack,
        gpu_type=node.gpu_type,
        # A slot without a GPU gets a domain of its own; it is never free.
        nvlink=tuple(gpus.get(slot, -1 - slot) for slot in range(max(gpus, default=-1) + 1)),
        usable=state == Node.State.READY,
        why_not="" if state == Node.State.READY else state.value,
    )


def _free(nodes: list[Node], gpus: Domains, taken: set[tuple[int, int]]) -> "np.typing.NDArray[np.bool_]":
    widest = max((slot + 1 for node in nodes for slot in gpus[node.pk]), default=0)
    free = np.zeros((len(nodes), widest), dtype=np.bool_)
    for row, node in enumerate(nodes):
        for slot in gpus[node.pk]:
            free[row, slot] = (node.pk, slot) not in taken
    return free


def _waiting() -> tuple[model.Job, ...]:
    rows = Job.objects.filter(phase=Job.Phase.WAITING).order_by("submitted_at", "pk")
    found = rows.values_list(
        "pk", "version", "team__name", "user__email", "tier", "submitted_at", "nodes", "gpus_per_node",
        "gpu_type", "limit_s",
    )  # fmt: skip
    return tuple(
        model.Job(pk, version, team, user, TIER[tier], submitted_at, nodes, gpus, kind, limit_s)
        for pk, version, team, user, tier, submitted_at, nodes, gpus, kind, limit_s in found
    )


def _live_holds() -> list[_Held]:
    rows = Hold.objects.filter(released_at=None).values_list(
        "gpu__node_id", "gpu__slot", "gpu__node__gpu_type", "run_id", "run__started_at", "run__created_at",
        "run__job_id", "run__job__team__name", "run__job__tier", "run__job__limit_s",
    )  # fmt: skip
    return [_Held(*row) for row in rows]


def _running(holds: list[_Held]) -> tuple[model.Running, ...]:
    by_run: dict[int, list[_Held]] = defaultdict(list)
    for hold in holds:
        by_run[hold.run].append(hold)
    return tuple(_run(mine) for mine in by_run.values())


def _run(holds: list[_Held]) -> model.Running:
    one = holds[0]
    began = one.started_at or one.created_at
    return model.Running(
        job=one.job,
        team=one.team,
        tier=TIER[one.tier],
        gpu_type=one.gpu_type,
        gpus=len(holds),
        nodes=tuple(sorted({hold.node for hold in holds})),
        ends_by=began + timedelta(seconds=one.limit_s) if one.limit_s else None,
    )


def _teams() -> tuple[model.Team, ...]:
    nominal: dict[int, dict[str, int]] = defaultdict(dict)
    for quota in Quota.objects.all():
        nominal[quota.team_id][quota.gpu_type] = quota.nominal
    return tuple(
        model.Team(name=team.name, parent=team.parent.name if team.parent else None, nominal=nominal[team.pk])
        for team in Team.objects.select_related("parent")
    )
