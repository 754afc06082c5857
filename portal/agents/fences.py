"""What a node's Redis user may do: read its own queue, write beats, and nothing else."""

from typing import Any

from redis import Redis

from portal.agents.keys import redis_password, redis_user
from portal.cluster.models import Node

BEATS = "beats"
# All that kombu's consumer and producer call here, and not a word more: no scripts, no keys of other kinds.
COMMANDS = [
    "-@all",
    *("+hello", "+auth", "+ping", "+select", "+client|setinfo", "+client|setname", "+quit"),
    *("+brpop", "+llen", "+sadd", "+smembers", "+multi", "+exec", "+discard"),
]
# A right of its own: beats take what is added, and nothing else does, so that no node fills Redis by its own queue.
SPEAKS = f"(-@all +lpush %W~{BEATS})"


def queue_of(name: str) -> str:
    return f"node.{name}"


def rights(node: Node) -> list[str]:
    """The arguments of ACL SETUSER. `reset` first: a right that left this list leaves the user too."""
    queue = queue_of(node.name)
    keys = [
        f"~{queue}",
        f"~{queue}\x06\x16*",
        f"~_kombu.binding.{queue}",
        f"~_kombu.binding_permanent.{queue}",
    ]
    return [
        "reset", "on", f">{redis_password(node)}", "resetchannels", *keys, *COMMANDS, SPEAKS,
    ]  # fmt: skip


def mend(client: Redis, nodes: list[Node]) -> int:
    """Make the users what PostgreSQL says: missing ones are made, strangers removed. Returns how many changed."""
    present = {name for name in _names(client) if name.startswith("node-")}
    wanted = {redis_user(node): node for node in nodes}
    for name in present - set(wanted):
        _acl(client, "DELUSER", name)
    for name in set(wanted) - present:
        _acl(client, "SETUSER", name, *rights(wanted[name]))
    return len(present ^ set(wanted))


def remove(client: Redis, node: Node) -> None:
    """Redis also ends the connections of a user that is gone."""
    _acl(client, "DELUSER", redis_user(node))


def make(client: Redis, node: Node) -> None:
    """Give a node that joins its user at once."""
    _acl(client, "SETUSER", redis_user(node), *rights(node))


def _names(client: Redis) -> list[str]:
    found = _acl(client, "USERS")
    return [name.decode() if isinstance(name, bytes) else str(name) for name in found]


def _acl(client: Redis, *words: str) -> Any:
    # The library's own acl_setuser knows neither %W~ nor subcommands.
    return client.execute_command("ACL", *words)  # type: ignore[no-untyped-call]  # redis-py is untyped here
