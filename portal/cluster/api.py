"""The API's door to machines."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from portal.accounts.may import PersonRequest, may_call
from portal.agents import actions as agents
from portal.cluster import queries
from portal.cluster.models import Gpu, Node
from portal.jobs.models import Job
from portal.jobs.queries import jobs_on

router = Router(tags=["cluster"])


class GpuOut(Schema):
    slot: int
    uuid: str
    name: str
    memory_mib: int
    nvlink_domain: int
    job: int | None


class NodeOut(Schema):
    name: str
    cluster: str
    pool: str
    block: str
    rack: str
    gpu_type: str
    state: str
    drain_reason: str
    last_seen_at: datetime | None
    gpus: list[GpuOut]


class JoinTokenIn(Schema):
    model_config = {"extra": "forbid", "strict": True}

    days: int = Field(7, ge=1, le=365, description="for how long nodes may join with it")


class JoinTokenOut(Schema):
    secret: str = Field(description="shown now and never again")
    pool: str
    expires_at: datetime


@router.post("/join-tokens", response={201: JoinTokenOut})
@may_call("node.approve")
def make_join_token(request: PersonRequest, asked: JoinTokenIn) -> Status[Any]:
    """A secret with which agents join as approved nodes: put it into the file they get as --join-token-file."""
    now, lives, pool = timezone.now(), timedelta(days=asked.days), agents.default_pool()
    secret = agents.make_join_token(pool=pool, by=request.user, lives=lives, now=now)
    return Status(201, {"secret": secret, "pool": pool.name, "expires_at": now + lives})


@router.get("/nodes", response=list[NodeOut])
@may_call("cluster.see")
def nodes(request: HttpRequest) -> list[dict[str, Any]]:
    """Every node with its state and its GPUs, and which job holds each."""
    now = timezone.now()
    found = list(queries.inventory())
    held = jobs_on([node.pk for node in found])
    return [_node(node, now) | {"gpus": [_gpu(gpu, held) for gpu in node.gpus.all()]} for node in found]


def _node(node: Node, now: datetime) -> dict[str, Any]:
    told = ("name", "block", "rack", "gpu_type", "drain_reason", "last_seen_at")
    where = {"cluster": node.pool.cluster.name, "pool": node.pool.name, "state": node.state(now)}
    return {field: getattr(node, field) for field in told} | where


def _gpu(gpu: Gpu, held: Mapping[int, Job]) -> dict[str, Any]:
    told = ("slot", "uuid", "name", "memory_mib", "nvlink_domain")
    job = held.get(gpu.pk)
    return {field: getattr(gpu, field) for field in told} | {"job": job.pk if job else None}
