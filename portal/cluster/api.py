"""The API's door to machines."""

from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema

from portal.accounts.may import may_call
from portal.cluster import queries
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


@router.get("/nodes", response=list[NodeOut])
@may_call("cluster.see")
def nodes(request: HttpRequest) -> list[dict[str, object]]:
    """Every node with its state and its GPUs, and which job holds each."""
    now = timezone.now()
    found = list(queries.inventory())
    held = jobs_on([node.pk for node in found])
    return [
        {
            "name": node.name,
            "cluster": node.pool.cluster.name,
            "pool": node.pool.name,
            "block": node.block,
            "rack": node.rack,
            "gpu_type": node.gpu_type,
            "state": node.state(now),
            "drain_reason": node.drain_reason,
            "last_seen_at": node.last_seen_at,
            "gpus": [
                {
                    "slot": gpu.slot,
                    "uuid": gpu.uuid,
                    "name": gpu.name,
                    "memory_mib": gpu.memory_mib,
                    "nvlink_domain": gpu.nvlink_domain,
                    "job": held[gpu.pk].pk if gpu.pk in held else None,
                }
                for gpu in node.gpus.all()
            ],
        }
        for node in found
    ]
