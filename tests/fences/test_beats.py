"""Beats that lie, repeat, overflow or smuggle: counted, logged once a minute, and without any effect."""

import base64
import hashlib
import hmac
import json
import logging
from datetime import datetime, timedelta
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import OutOfMemoryError

from portal.agents import keys, orders
from portal.agents.hearing import hear
from portal.agents.models import Refusal
from portal.cluster.models import Cluster, Node, Pool
from scheduler.wire import Beat, seal

pytestmark = pytest.mark.django_db


@pytest.fixture
def nodes(now: datetime) -> dict[str, Node]:
    pool = Pool.objects.create(cluster=Cluster.objects.create(name="north"), name="train")
    return {
        name: Node.objects.create(name=name, pool=pool, gpu_type="H100", claim_digest="x", approved_at=now)
        for name in ("n01", "n02")
    }


@pytest.fixture
def link(redis_url: str) -> Redis:
    return Redis.from_url(redis_url)


def beat(now: datetime, **changed: Any) -> dict[str, Any]:
    fields = {
        "node": "n01", "boot": 1000, "seq": 1, "sent_at": now.timestamp(), "expires_at": now.timestamp() + 60,
        "agent": "1", "orders_seq": 0, "isolated": True, "hardware": "0" * 64,
    }  # fmt: skip
    return Beat(**(fields | changed)).to_body()


def message(envelope: object, **headers: Any) -> bytes:
    """As kombu puts it on the list."""
    body = base64.b64encode(json.dumps(envelope).encode()).decode()
    return json.dumps(
        {
            "body": body,
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "headers": headers,
            "properties": {"body_encoding": "base64", "delivery_tag": "t", "delivery_info": {}},
        }
    ).encode()


def sealed(node: Node, body: dict[str, Any], **headers: Any) -> bytes:
    return message(seal("beat", node.name, body, keys.wire_key(node)), **headers)


def codes() -> dict[str, int]:
    return dict(Refusal.objects.values_list("code", "count"))


def test_an_honest_beat_is_heard_and_answered(nodes: dict[str, Node], link: Redis, now: datetime) -> None:
    assert hear([sealed(nodes["n01"], beat(now))], now=now) == [nodes["n01"].pk]
    nodes["n01"].refresh_from_db()
    assert (nodes["n01"].boot, nodes["n01"].beat_seq, nodes["n01"].last_seen_at) == (1000, 1, now)
    assert link.llen("node.n01") == 1


def test_beats_that_must_not_count(nodes: dict[str, Node], link: Redis, now: datetime) -> None:
    n01, n02 = nodes["n01"], nodes["n02"]
    hear([sealed(n01, beat(now, seq=5))], now=now)
    link.delete("node.n01")
    good = seal("beat", "n01", beat(now, seq=6), keys.wire_key(n01))
    forged = good | {"body": good["body"].replace('"seq":6', '"seq":7')}
    in_anothers_name = seal("beat", "n01", beat(now, seq=6), keys.wire_key(n02))
    as_orders = seal("orders", "n01", beat(now, seq=6), keys.wire_key(n01))
    bad = {
        "forged": [message(forged), message(in_anothers_name), message(as_orders)],
        "replayed": [sealed(n01, beat(now, seq=5)), sealed(n01, beat(now, seq=4))],
        "wrong_boot": [sealed(n01, beat(now, boot=999, seq=50))],
        "expired": [sealed(n01, beat(now, seq=9, expires_at=now.timestamp() - 1))],
        "unknown_node": [message(good | {"node": "n99"})],
        "malformed": [b"\xff\xfe", b"{}", b"[1]", b'"x"', b"null", message([1, 2]), message(good | {"v": 2}),
                      message({}), json.dumps({"body": 1, "properties": {}}).encode(),
                      b'{"body": "e30=", "properties": []}', b"[" * 90_000],
        "oversized": [b"x" * 200_000],
    }  # fmt: skip
    for batch in bad.values():
        for raw in batch:
            assert hear([raw], now=now) == []
    counted: dict[str, int] = {}
    for code, count in Refusal.objects.values_list("code", "count"):
        counted[code] = counted.get(code, 0) + count
    assert counted == {code: len(batch) for code, batch in bad.items()}
    n01.refresh_from_db()
    assert (n01.boot, n01.beat_seq) == (1000, 5)
    assert link.llen("node.n01") == 0


def test_one_bad_beat_in_a_batch_harms_nobody_else(
    nodes: dict[str, Node], link: Redis, now: datetime
) -> None:
    strange = [
        message({"v": 1, "node": name, "body": "{}", "mac": "0" * 64})
        for name in ("a\0b", "\ud800", "n" * 10_000, ["n01"], {"n01": 1}, 7, None)
    ]
    batch = [b"junk", *strange, sealed(nodes["n02"], beat(now, node="n02")), b"[" * 90_000]
    assert hear(batch, now=now) == [nodes["n02"].pk]


def test_an_oversized_body_that_is_signed_is_refused_too(
    nodes: dict[str, Node], link: Redis, now: datetime
) -> None:
    body = beat(now) | {"filler": "x" * 70_000}
    signed = json.dumps(body)
    mac = hmac.new(keys.wire_key(nodes["n01"]), f"beat\0n01\0{signed}".encode(), hashlib.sha256).hexdigest()
    assert hear([message({"v": 1, "node": "n01", "body": signed, "mac": mac})], now=now) == []
    assert codes() == {"oversized": 1}


def test_canvas_fields_in_a_beat_publish_nothing(nodes: dict[str, Node], link: Redis, now: datetime) -> None:
    """Callbacks, chains and chords are Celery's way to have a worker send tasks: ours never reads them."""
    evil = {"task": "portal.cycle.tick", "id": "1", "args": [], "kwargs": {}, "options": {"queue": "cycle"}}
    headers = {
        "task": "portal.agents.mend_users", "id": "2", "lang": "py", "root_id": "2", "parent_id": None,
        "callbacks": [evil], "errbacks": [evil], "chain": [evil], "chord": evil, "compression": "zlib",
        "reply_to": "cycle", "replaced_task_nesting": 0,
    }  # fmt: skip
    canvas = {"callbacks": [evil], "errbacks": [evil], "chain": [evil], "chord": evil}
    honest = seal("beat", "n01", beat(now), keys.wire_key(nodes["n01"]))
    hear([message([[honest], {}, canvas], **headers), sealed(nodes["n01"], beat(now), **headers)], now=now)
    assert link.llen("cycle") == 0
    assert link.llen("work") == 0
    assert link.llen("celery") == 0
    assert [key for key in link.keys("*") if key not in (b"node.n01",)] in ([], [b"_kombu.binding.node.n01"])


def test_refusals_are_logged_once_per_node_and_minute(
    nodes: dict[str, Node], link: Redis, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="portal.agents.refusals"):
        for _ in range(50):
            hear([b"junk"], now=now)
        hear([b"junk"], now=now + timedelta(minutes=1))
    assert len(caplog.records) == 2
    assert sorted(Refusal.objects.values_list("count", flat=True)) == [1, 50]


def test_a_flood_of_claimed_names_makes_no_flood_of_rows(
    nodes: dict[str, Node], link: Redis, now: datetime
) -> None:
    strangers = [message({"v": 1, "node": f"x{i}", "body": "{}", "mac": "0" * 64}) for i in range(300)]
    hear(strangers, now=now)
    assert Refusal.objects.count() <= 2
    assert sum(Refusal.objects.values_list("count", flat=True)) == 300


def test_orders_are_replaced_not_added(nodes: dict[str, Node], link: Redis, now: datetime) -> None:
    for seq in range(1, 30):
        hear([sealed(nodes["n01"], beat(now, seq=seq))], now=now)
    assert link.llen("node.n01") == 1


def test_a_full_redis_is_freed_of_what_lies_in_a_nodes_queue(
    nodes: dict[str, Node], link: Redis, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes nothing then, so the queue is emptied before the orders are sent, not after."""
    hear([sealed(nodes["n01"], beat(now))], now=now)
    link.rpush("node.n01", *["x" * 1000] * 10)

    def is_full(*_: object, **__: object) -> None:
        raise OutOfMemoryError

    monkeypatch.setattr("portal.celery.app.send_task", is_full)
    orders.send([nodes["n01"].pk], now=now)
    assert link.llen("node.n01") == 0
