"""What can be known to be wrong before anything is started: each thing is one sentence."""

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from portal.environment import database
from portal.up.sockets import is_free
from portal.up.trouble import Trouble

if TYPE_CHECKING:
    from redis import Redis

_OLDEST_POSTGRES = 15


def check_platform() -> None:
    """Child subreapers and /proc are Linux's."""
    if sys.platform != "linux":
        raise Trouble(
            f"`up` runs on Linux, and this is {sys.platform}; use a virtual machine or a container."
        )


def check_port(port: int) -> None:
    """Somebody may listen there, or only root may."""
    try:
        free = is_free(port)
    except PermissionError as error:
        raise Trouble(f"Port {port} is only for root; give another with --port.") from error
    if not free:
        raise Trouble(f"Port {port} is taken by another program; end it, or give another with --port.")


def check_way(state: Path) -> None:
    """As root, jobs run under users of their own, which must be able to reach what is theirs."""
    if os.geteuid() != 0:
        return
    there = [folder for folder in state.absolute().parents if folder.exists()]
    closed = [folder for folder in there if not folder.stat().st_mode & 0o001]
    if closed:
        raise Trouble(
            f"Jobs run under users of their own, and those cannot pass through {closed[-1]}; "
            f"give another place with --state, or open it: chmod o+x {closed[-1]}"
        )


def check_servers() -> None:
    """Servers that the person named must answer."""
    if url := os.environ.get("DATABASE_URL"):
        _check_database(url)
    if url := os.environ.get("REDIS_URL"):
        _check_redis(url)


def _check_database(url: str) -> None:
    import psycopg

    try:
        database(url)
        with psycopg.connect(url, connect_timeout=5) as link:
            version = link.info.server_version // 10000
    except (psycopg.Error, ValueError) as error:
        why = _first_line(error)
        raise Trouble(
            f"The database that DATABASE_URL names cannot be reached: {why}. Correct or unset it."
        ) from error
    if version < _OLDEST_POSTGRES:
        raise Trouble(
            f"The database that DATABASE_URL names is PostgreSQL {version}, and {_OLDEST_POSTGRES} or newer "
            "is needed; name another, or unset it."
        )


def _check_redis(url: str) -> None:
    import redis

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as link:
            link.ping()
            _check_rights(link)
    except (redis.RedisError, ValueError) as error:
        why = _first_line(error)
        raise Trouble(
            f"The Redis that REDIS_URL names cannot be reached: {why}. Correct or unset it."
        ) from error


def _check_rights(link: "Redis") -> None:
    """Every node gets a user of its own there: try that, with the kind of right that Redis 6 does not know."""
    import redis

    name = f"berth-tries-{secrets.token_hex(4)}"
    try:
        for words in (("SETUSER", name, "reset", "off", "%W~beats"), ("DELUSER", name)):
            link.execute_command("ACL", *words)  # type: ignore[no-untyped-call]  # redis-py is untyped here
    except redis.ResponseError as error:
        raise Trouble(
            f"The Redis that REDIS_URL names cannot be used: {_first_line(error)}. Berth makes a user for "
            "every node there; that takes Redis 7 or Valkey 8, and a user with all rights."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
