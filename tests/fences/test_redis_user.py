"""What a node's Redis user can reach, tried as that user on a real Valkey: its own queue, `beats` for writing, no more."""

from collections.abc import Iterator

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from portal.agents import fences, keys
from portal.cluster.models import Node


def node(name: str, key_version: int = 1) -> Node:
    return Node(name=name, key_version=key_version)


@pytest.fixture
def portal(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        fences.mend(client, [node("n01"), node("n02")])
        yield client


@pytest.fixture
def n01(portal: Redis) -> Iterator[Redis]:
    with Redis.from_url(keys.redis_url(node("n01"))) as client:
        yield client


def test_a_node_reads_its_own_queue_and_writes_beats(portal: Redis, n01: Redis) -> None:
    portal.lpush("node.n01", "orders")
    assert n01.brpop(["node.n01"], timeout=1) == (b"node.n01", b"orders")
    assert n01.lpush("beats", "beat") == 1
    assert portal.rpop("beats") == b"beat"


CLIMBS = {
    "another node's queue, reading": ("BRPOP", "node.n02", "0.01"),
    "another node's queue, writing": ("LPUSH", "node.n02", "x"),
    "another node's queue, emptying": ("DEL", "node.n02"),
    "another node's unacknowledged messages": ("HGET", "u.n02.unacked", "tag"),
    "unacknowledged messages of its own, which it has no use for": ("HGET", "u.n01.unacked", "tag"),
    "filling its own queue": ("RPUSH", "node.n01", "x"),
    "filling its own queue from the other end": ("LPUSH", "node.n01", "x"),
    "facts about the server": ("INFO",),
    "a queue whose name begins like its own": ("BRPOP", "node.n011", "0.01"),
    "the beats of others, reading": ("RPOP", "beats"),
    "the beats of others, waiting for one": ("BRPOP", "beats", "0.01"),
    "the beats of others, by a way round": ("LRANGE", "beats", "0", "-1"),
    "the beats of others, moving them to its own queue": ("LMOVE", "beats", "node.n01", "LEFT", "LEFT"),
    "the portal's own queues": ("LPUSH", "work", "x"),
    "the cycle's queue": ("LPUSH", "cycle", "x"),
    "the bell": ("SET", "berth.bell", "1"),
    "a key of its own making": ("SET", "anything", "1"),
    "all keys": ("KEYS", "*"),
    "a walk over all keys": ("SCAN", "0"),
    "the users": ("ACL", "LIST"),
    "making a user": ("ACL", "SETUSER", "evil", "on", "nopass", "~*", "+@all"),
    "the configuration": ("CONFIG", "GET", "*"),
    "listening to the portal": ("SUBSCRIBE", "berth.log.1"),
    "speaking as the portal": ("PUBLISH", "berth.log.1", "x"),
    "a script": ("EVAL", "return redis.call('GET', 'x')", "0"),
    "watching others' commands": ("MONITOR",),
    "forgetting everything": ("FLUSHALL",),
    "ending the server": ("SHUTDOWN", "NOSAVE"),
    "ending another's connection": ("CLIENT", "KILL", "TYPE", "normal"),
    "the list of connections": ("CLIENT", "LIST"),
    "becoming a replica of its own server": ("REPLICAOF", "127.0.0.1", "1"),
    "handing keys away": ("MIGRATE", "127.0.0.1", "1", "node.n01", "0", "10"),
    "the bindings of another's queue": ("SADD", "_kombu.binding.node.n02", "x"),
    "where celery keeps results": ("SET", "celery-task-meta-1", "x"),
}


@pytest.mark.parametrize("climb", CLIMBS.values(), ids=CLIMBS.keys())
def test_a_node_cannot_reach(climb: tuple[str, ...], n01: Redis) -> None:
    with pytest.raises(NoPermissionError):
        n01.execute_command(*climb)


def test_nobody_enters_without_a_name(portal: Redis, redis_url: str) -> None:
    address = keys.redis_url(node("n01")).partition("@")[2]
    with Redis.from_url(f"redis://{address}") as nobody, pytest.raises(AuthenticationError):
        nobody.ping()


def test_a_raised_key_version_locks_the_old_password_out(portal: Redis) -> None:
    fences.make(portal, node("n01", key_version=2))
    with Redis.from_url(keys.redis_url(node("n01"))) as old, pytest.raises(AuthenticationError):
        old.ping()
    with Redis.from_url(keys.redis_url(node("n01", key_version=2))) as new:
        assert new.ping()


def test_users_are_mended_from_what_the_portal_knows(portal: Redis) -> None:
    portal.acl_deluser("node-n01")  # as after a restart of Redis
    portal.execute_command("ACL", "SETUSER", "node-stranger", "on", "nopass")
    assert fences.mend(portal, [node("n01"), node("n02")]) == 2
    assert set(portal.acl_users()) == {"default", "portal", "node-n01", "node-n02"}
    assert fences.mend(portal, [node("n01"), node("n02")]) == 0
