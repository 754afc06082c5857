"""Orders out: the whole set a node should be running, signed, and at most one message queued per node."""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from portal.agents.fences import queue_of
from portal.agents.keys import wire_key
from portal.agents.queries import wanted
from portal.bell import redis
from portal.cluster.models import Node
from scheduler.wire import Orders, RunWanted, seal

log = logging.getLogger(__name__)

EXPIRES_S = 120.0
BEAT_EVERY_S = 2.0


def send(node_ids: Iterable[int], *, now: datetime) -> None:
    """Call it after commit. First the number, then the look: a later number never carries an older set."""
    ids = sorted(set(node_ids))
    if not ids:
        return
    with transaction.atomic():
        rows = Node.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
        list(rows.values_list("pk"))  # locked in order first, see hearing.py
        Node.objects.filter(pk__in=ids).update(orders_seq=F("orders_seq") + 1)
    sets = wanted(ids)
    nodes = Node.objects.filter(pk__in=ids, approved_at__isnull=False, boot__gt=0)
    for node in nodes.only("name", "key_version", "boot", "beat_seq", "orders_seq"):
        try:
            _push(node, sets.get(node.pk, ()), now)
        except (RedisError, OperationalError, OSError) as why:
            log.warning("orders for %s not sent: %s", node.name, why)  # the next beat asks again
            return


def _push(node: Node, runs: tuple[RunWanted, ...], now: datetime) -> None:
    from portal.celery import app

    sent_at = now.timestamp()
    body = Orders(
        node=node.name, boot=node.boot, seq=node.orders_seq, sent_at=sent_at, expires_at=sent_at + EXPIRES_S,
        ack=node.beat_seq, beat_every_s=BEAT_EVERY_S, runs=runs,
    )  # fmt: skip
    envelope = seal("orders", node.name, body.to_body(), wire_key(node))
    # First, because Redis takes nothing while it is full, and what lies there may be what fills it.
    redis().delete(queue_of(node.name))
    app.send_task("agent.orders", args=[envelope], queue=queue_of(node.name), ignore_result=True)
    # Replaced, not added: an absent agent finds one message, however long it was away.
    redis().ltrim(queue_of(node.name), 0, 0)
