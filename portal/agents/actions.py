"""Writes about agents: joining, join tokens, and mending their Redis users."""

import json
import logging
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from redis.exceptions import RedisError

from portal.accounts.models import User
from portal.accounts.queries import digest
from portal.agents import fences
from portal.agents.models import JoinToken
from portal.bell import redis
from portal.cluster import actions as cluster
from portal.cluster.models import Cluster, Node, Pool
from portal.errors import Conflict, Forbidden, Refusal
from scheduler.wire import NODE_NAME, canonical, inventory_digest

log = logging.getLogger(__name__)

HARDWARE_BYTES = 64 * 1024
PENDING_AT_MOST = 200  # anyone may ask to join: strangers must not fill the database and the Cluster page


def make_join_token(*, pool: Pool, by: User | None, lives: timedelta, now: datetime) -> str:
    """A secret that lets nodes join as approved; shown once."""
    secret = f"join_{secrets.token_urlsafe(32)}"
    JoinToken.objects.create(
        pool=pool, digest=digest(secret), made_by=by, made_at=now, expires_at=now + lives
    )
    return secret


@transaction.atomic
def join(
    *, name: str, claim: str, join_token: str, address: str, hardware: dict[str, Any], now: datetime
) -> Node:
    """The node of this name, made if new; the claim proves later that it is the same agent that asks."""
    _check_words(name=name, claim=claim, address=address)
    _check_hardware(hardware)
    token = _token(join_token, now) if join_token else None
    pool = token.pool if token else default_pool()
    if token is None:
        _check_room(name)
    node, _ = Node.objects.select_for_update(of=("self",)).get_or_create(
        name=name,
        defaults={
            "pool": pool,
            "claim_digest": digest(claim),
            "gpu_type": "unknown",
            "hardware_reported": hardware,
        },
    )
    if node.expelled_at is not None:
        raise Forbidden(
            f"An administrator has put {name} out; only a person can let it in again.", field="name"
        )
    if node.claim_digest != digest(claim):
        _hand_over(node, claim, trusted=token is not None)
    node.address, node.hardware_reported = address, hardware
    node.hardware_seen = inventory_digest(hardware)
    told = ["address", "claim_digest", "key_version", "hardware_reported", "hardware_seen"]
    node.save(update_fields=told)
    if token and node.approved_at is None:
        cluster.approve(node=node, by=token.made_by, now=now)
        node.refresh_from_db()
    return node


def _hand_over(node: Node, claim: str, *, trusted: bool) -> None:
    """Who has a join token gets a name that somebody only asked for, or whose node is lost, its disk perhaps too."""
    if not trusted or (node.approved_at is not None and node.lost_at is None):
        raise Forbidden(
            f"Another agent has joined as {node.name}. Use another name, or that agent's state directory; "
            "once that node is lost, a join token lets a new agent have its name.",
            field="claim",
        )
    node.claim_digest = digest(claim)
    node.key_version += 1  # should the old one come back, its keys open nothing


def _check_room(name: str) -> None:
    pending = Node.objects.filter(approved_at=None)
    if pending.count() >= PENDING_AT_MOST and not Node.objects.filter(name=name).exists():
        raise Conflict(
            f"{PENDING_AT_MOST} nodes already wait to be approved. Use a join token, or ask an administrator."
        )


def _check_words(*, name: str, claim: str, address: str) -> None:
    if not NODE_NAME.fullmatch(name):
        raise Refusal("A node's name has 1 to 63 small letters, digits and inner hyphens.", field="name")
    if not address.isprintable():
        raise Refusal("The address must be a host name or an IP address.", field="address")
    if len(claim) < 32:
        raise Refusal("The claim must be a random secret of at least 32 characters.", field="claim")


def _check_hardware(hardware: dict[str, Any]) -> None:
    try:  # Python reads NaN and halves of characters in JSON, PostgreSQL keeps neither
        text = canonical(hardware)
        json.dumps(hardware, ensure_ascii=False).encode()
    except ValueError:
        raise Refusal(
            "An inventory is JSON: no NaN, no infinity, no lone surrogate.", field="hardware"
        ) from None
    if len(text) > HARDWARE_BYTES or r"\u0000" in text:
        raise Refusal(f"An inventory has at most {HARDWARE_BYTES:,} bytes, and no NUL.", field="hardware")
    gpus = hardware["gpus"]
    for key in ("slot", "uuid"):
        if len({gpu[key] for gpu in gpus}) < len(gpus):
            raise Refusal(f"Two GPUs report the same {key}; each has its own.", field=f"hardware.gpus.{key}")
    if len({gpu["type"] for gpu in gpus}) > 1:
        raise Refusal("A node has GPUs of one type; these are of several.", field="hardware.gpus.type")


def _token(secret: str, now: datetime) -> JoinToken:
    token = JoinToken.objects.filter(digest=digest(secret), revoked_at=None, expires_at__gt=now).first()
    if token is None:
        raise Forbidden(
            "This join token is unknown, expired or revoked; ask an administrator for another.",
            field="join_token",
        )
    return token


def default_pool() -> Pool:
    """Where nodes that join without a token wait."""
    first = Pool.objects.order_by("pk").first()
    if first is not None:
        return first
    home, _ = Cluster.objects.get_or_create(name="main")
    return Pool.objects.get_or_create(cluster=home, name="training")[0]


def close_fence(node: Node) -> None:
    """Take a node's Redis user away now; its open connections end with it."""
    try:
        fences.remove(redis(), node)
    except RedisError as why:
        log.warning("Redis user of %s not removed yet: %s", node.name, why)


def open_fence(node: Node) -> None:
    """Give the node its Redis user now, not at the next mending."""
    try:
        fences.make(redis(), node)
    except RedisError as why:
        log.warning("Redis user of %s not made: %s", node.name, why)


def mend_users() -> int:
    """After a restart Redis has forgotten its users; PostgreSQL has not."""
    nodes = list(Node.objects.filter(approved_at__isnull=False).only("name", "key_version"))
    try:
        return fences.mend(redis(), nodes)
    except RedisError as why:
        log.warning("Redis users not mended: %s", why)
        return 0
