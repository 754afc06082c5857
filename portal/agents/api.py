"""The API's door for agents: join, fetch a spec, send a piece of a log."""

import json
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.security import HttpBearer

from portal.accounts.may import may_call
from portal.agents import actions, keys, queries
from portal.agents.fences import queue_of
from portal.cluster.models import Node
from portal.errors import Refusal
from portal.jobs import logs


class NodeBearer(HttpBearer):
    """An agent shows its node's own token."""

    def authenticate(self, request: HttpRequest, token: str) -> Node | None:
        return queries.node_of(token)


class NodeRequest(HttpRequest):
    auth: Node


router = Router(auth=NodeBearer(), tags=["agents"])


class GpuIn(Schema):
    model_config = {"strict": True}  # kept as it was sent, so it must be right as it was sent

    slot: int = Field(ge=0, lt=64)
    uuid: str = Field(min_length=4, max_length=96)
    type: str = Field(min_length=1, max_length=40)
    name: str = Field(max_length=96)
    memory_mib: int = Field(ge=0, lt=2**31)
    nvlink_domain: int = Field(ge=0, lt=64)


class HardwareIn(Schema):
    model_config = {"strict": True}

    gpus: list[GpuIn] = Field(max_length=64)
    cpus: int = Field(ge=0, lt=2**31)
    memory_mib: int = Field(ge=0, lt=2**31)
    block: str = Field(max_length=40)
    rack: str = Field(max_length=40)


class JoinIn(Schema):
    name: str = Field(max_length=63)
    claim: str = Field(max_length=200)
    join_token: str | None = Field(None, max_length=200)
    address: str = Field("127.0.0.1", max_length=255)
    hardware: HardwareIn


class JoinOut(Schema):
    state: str
    node: str
    token: str
    wire_key: str
    redis_url: str
    queue: str


class PendingOut(Schema):
    state: str
    sentence: str


class NextOut(Schema):
    next: int


@router.post("/join", auth=None, response={200: JoinOut, 202: PendingOut})
@may_call("agent.join")
def join(request: HttpRequest, asked: JoinIn) -> Status[Any]:
    """A node says who it is and what it has; approved, it gets its keys."""
    node = actions.join(
        name=asked.name,
        claim=asked.claim,
        join_token=asked.join_token or "",
        address=asked.address,
        # As it was sent: what the agent calls its hardware by is a digest of every word of it.
        hardware=json.loads(request.body)["hardware"],
        now=timezone.now(),
    )
    if node.approved_at is None:
        waits = f"{node.name} waits for an administrator to approve it on the Cluster page."
        return Status(202, {"state": "pending", "sentence": waits})
    actions.open_fence(node)
    return Status(200, {
        "state": "approved",
        "node": node.name,
        "token": keys.http_token(node),
        "wire_key": keys.wire_key(node).hex(),
        "redis_url": keys.redis_url(node),
        "queue": queue_of(node.name),
    })  # fmt: skip


@router.get("/runs/{run}/spec")
@may_call("agent.work")
def spec(request: NodeRequest, run: int) -> dict[str, Any]:
    """What to start, for a run that is seated on the asking node."""
    return dict(queries.seat_of(request.auth, run).spec)


@router.post("/runs/{run}/ranks/{rank}/log", response=NextOut)
@may_call("agent.work")
def log(request: NodeRequest, run: int, rank: int, offset: int) -> dict[str, int]:
    """A piece of a rank's output, by its offset; the answer says where to go on."""
    if not logs.is_seated(node=request.auth, run=run, rank=rank):
        raise Refusal(
            f"Rank {rank} of run {run} is not on {request.auth.name}.", field="rank", code="not_yours"
        )
    return {"next": logs.append(run=run, rank=rank, offset=offset, body=request.body, now=timezone.now())}
