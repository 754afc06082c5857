"""Rows to a Snapshot: everything the planner may know, in a handful of queries."""

from collections import defaultdict
from datetime import datetime, timedelta

import numpy as np

from portal.accounts.models import Team
from portal.cluster.models import Node
from portal.cluster.queries import inventory
from portal.jobs.models import Hold, Job
from portal.quotas.models import Quota
from scheduler.core import model

TIER = {
    Job.Tier.PRODUCTION: model.Tier.PRODUCTION,
    Job.Tier.STANDARD: model.Tier.STANDARD,
    Job.Tier.OPPORTUNISTIC: model.Tier.OPPORTUNISTIC,
}


def take(*, now: datetime) -> model.Snapshot:
    """Six queries, however many jobs and nodes there are."""
    nodes = [node for node in inventory() if node.approved_at is not None]
    holds = _live_holds()
    taken = {(hold.gpu.node_id, hold.gpu.slot) for hold in holds}
    return model.Snapshot(
        taken_at=now,
        nodes=tuple(_node(node, now) for node in nodes),
        free=_free(nodes, taken),
        waiting=_waiting(),
        running=_running(holds),
        teams=_teams(),
    )


def of_hardware(*, now: datetime) -> model.Snapshot:
    """Only what decides whether a request could ever run: nodes and teams."""
    nodes = [node for node in inventory() if node.approved_at is not None]
    return model.Snapshot(
        taken_at=now,
        nodes=tuple(_node(node, now) for node in nodes),
        free=_free(nodes, set()),
        teams=_teams(),
    )


def core_job(job: Job) -> model.Job:
    """A job as the planner sees it."""
    return model.Job(
        id=job.pk or 0,
        version=job.version,
        team=job.team.name,
        user=job.user.email,
        tier=TIER[Job.Tier(job.tier)],
        submitted_at=job.submitted_at,
        nodes=job.nodes,
        gpus_per_node=job.gpus_per_node,
        gpu_type=job.gpu_type,
        limit_s=job.limit_s,
    )


def _node(node: Node, now: datetime) -> model.Node:
    state = node.state(now)
    return model.Node(
        id=node.pk,
        name=node.name,
        cluster=node.pool.cluster.name,
        pool=node.pool.name,
        block=node.block,
        rack=node.rack,
        gpu_type=node.gpu_type,
        nvlink=_nvlink(node),
        usable=state == Node.State.READY,
        why_not="" if state == Node.State.READY else state.value,
    )


def _nvlink(node: Node) -> tuple[int, ...]:
    """The NVLink domain of each slot; a slot without a GPU gets one of its own, which is never free."""
    domains = {gpu.slot: gpu.nvlink_domain for gpu in node.gpus.all()}
    return tuple(domains.get(slot, -1 - slot) for slot in range(max(domains, default=-1) + 1))


def _free(nodes: list[Node], taken: set[tuple[int, int]]) -> "np.typing.NDArray[np.bool_]":
    widest = max((len(_nvlink(node)) for node in nodes), default=0)
    free = np.zeros((len(nodes), widest), dtype=np.bool_)
    for row, node in enumerate(nodes):
        for gpu in node.gpus.all():
            free[row, gpu.slot] = (node.pk, gpu.slot) not in taken
    return free


def _waiting() -> tuple[model.Job, ...]:
    rows = Job.objects.filter(phase=Job.Phase.WAITING).select_related("team", "user")
    return tuple(core_job(job) for job in rows.defer("command", "env").order_by("submitted_at", "pk"))


def _live_holds() -> list[Hold]:
    return list(
        Hold.objects.filter(released_at=None)
        .select_related("gpu__node", "run__job__team")
        .defer("run__job__command", "run__job__env")
    )


def _running(holds: list[Hold]) -> tuple[model.Running, ...]:
    by_run: dict[int, list[Hold]] = defaultdict(list)
    for hold in holds:
        by_run[hold.run_id].append(hold)
    found = []
    for mine in by_run.values():
        run, job = mine[0].run, mine[0].run.job
        began = run.started_at or run.created_at
        found.append(
            model.Running(
                job=job.pk,
                team=job.team.name,
                tier=TIER[Job.Tier(job.tier)],
                gpu_type=mine[0].gpu.node.gpu_type,
                gpus=len(mine),
                nodes=tuple(sorted({hold.gpu.node_id for hold in mine})),
                ends_by=began + timedelta(seconds=job.limit_s) if job.limit_s else None,
            )
        )
    return tuple(found)


def _teams() -> tuple[model.Team, ...]:
    nominal: dict[int, dict[str, int]] = defaultdict(dict)
    for quota in Quota.objects.all():
        nominal[quota.team_id][quota.gpu_type] = quota.nominal
    return tuple(
        model.Team(name=team.name, parent=team.parent.name if team.parent else None, nominal=nominal[team.pk])
        for team in Team.objects.select_related("parent")
    )
