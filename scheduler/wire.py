"""The messages agents and portal exchange: their shape, their limits and their seal."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scheduler.shape import Refused, Shape, checked, each, flag, number, one_of, or_none, text, whole

VERSION = 1
MAX_BEAT_BYTES = MAX_ORDERS_BYTES = 65536  # of the whole envelope, as JSON
MAX_GPUS, MAX_RUNS, MAX_RANKS, MAX_FINDINGS = 64, 128, 1024, 256
DEFAULT_GRACE_S = 10.0  # for a run that orders no longer mention

# No dot, so that no node's Redis keys (`u.<name>.*`) can match another's; no glob signs either.
NODE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_HEX64 = re.compile(r"[0-9a-f]{64}")

Direction = Literal["beat", "orders"]
LIMITS = {"beat": MAX_BEAT_BYTES, "orders": MAX_ORDERS_BYTES}
RUN_STATES = ("starting", "running", "stopping", "ended")
RANK_STATES = ("starting", "running", "ended")


def canonical(value: object) -> str:
    """The one JSON text of a value; ASCII only, so characters are bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: object) -> str:
    """What orders name a spec by, and beats an inventory."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def inventory_digest(hardware: Mapping[str, Any]) -> str:
    """What beats name a node's hardware by. A new driver is no new hardware."""
    return digest({key: value for key, value in hardware.items() if key != "driver"})


def plain(text: str, limit: int = 500) -> str:
    """Text from outside made fit for a message: one printable line of bounded length."""
    return "".join(c if c.isprintable() else " " for c in text)[:limit].strip()


def seal(direction: Direction, node: str, body: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    signed = canonical(body)
    envelope = {"v": VERSION, "node": node, "body": signed, "mac": _mac(direction, node, signed, key)}
    _refuse_oversized(envelope, LIMITS[direction])
    return envelope


def unseal(
    direction: Direction, envelope: object, key_of: Callable[[str], bytes | None]
) -> tuple[str, dict[str, Any]]:
    """The node that sent it and the body it signed. Nothing inside is parsed before the seal holds."""
    node, signed, mac = _opened(envelope, LIMITS[direction])
    key = key_of(node)
    if key is None:
        raise Refused("unknown_node", f"No node is called {node}.")
    if not hmac.compare_digest(mac, _mac(direction, node, signed, key)):
        raise Refused("forged", f"The seal of this message is not node {node}'s.")
    try:
        body = json.loads(signed)
    except (ValueError, RecursionError):
        raise Refused("malformed", "body is not JSON.") from None
    if not isinstance(body, dict):
        raise Refused("malformed", "body is not an object.")
    if body.get("node") != node:
        raise Refused("forged", f"Node {node} sealed a message in another node's name.")
    return node, body


def _mac(direction: Direction, node: str, signed: str, key: bytes) -> str:
    return hmac.new(key, f"{direction}\0{node}\0{signed}".encode(), hashlib.sha256).hexdigest()


def _refuse_oversized(envelope: Mapping[str, Any], limit: int) -> None:
    size = len(canonical(envelope))
    if size > limit:
        raise Refused("oversized", f"The message has {size} bytes; {limit} are allowed.")


def _opened(envelope: object, limit: int) -> tuple[str, str, str]:
    if not isinstance(envelope, Mapping) or set(envelope) != {"v", "node", "body", "mac"}:
        raise Refused("malformed", "The envelope must have exactly v, node, body and mac.")
    if type(envelope["v"]) is not int or envelope["v"] != VERSION:
        raise Refused("malformed", f"v must be {VERSION}; agent and portal are of different versions.")
    node, signed, mac = envelope["node"], envelope["body"], envelope["mac"]
    if not isinstance(signed, str) or not signed.isascii():
        raise Refused("malformed", "body must be a text of ASCII characters.")
    if not isinstance(mac, str) or not _HEX64.fullmatch(mac):
        raise Refused("malformed", "mac must be 64 hexadecimal digits.")
    if not isinstance(node, str) or not NODE_NAME.fullmatch(node):
        raise Refused("malformed", "node must be a node's name.")
    _refuse_oversized(envelope, limit)
    return node, signed, mac


@dataclass(frozen=True, slots=True)
class GpuSeen(Shape):
    """One GPU's reading; None where the GPU does not tell."""

    uuid: str = checked(text(96))
    slot: int = checked(whole(0, MAX_GPUS - 1))
    util: float | None = checked(or_none(number(0, 100)))  # percent
    memory_used_mib: int | None = checked(or_none(whole(0, 2**32)))
    temp_c: float | None = checked(or_none(number(-100, 1000)))
    power_w: float | None = checked(or_none(number(0, 100_000)))


@dataclass(frozen=True, slots=True)
class Trespass(Shape):
    """A process on a GPU that its run does not hold, or of no run at all."""

    uuid: str = checked(text(96))
    pid: int = checked(whole())
    name: str = checked(text(200))


@dataclass(frozen=True, slots=True)
class Finding(Shape):
    """Something wrong with the node that a person may want to mend."""

    code: str = checked(text(64))
    uuid: str | None = checked(or_none(text(96)))
    sentence: str = checked(text())


@dataclass(frozen=True, slots=True)
class RankSeen(Shape):
    rank: int = checked(whole(0, 2**24))
    state: str = checked(one_of(*RANK_STATES))
    exit: int | None = checked(or_none(whole(0, 255)), default=None)  # where it ended by itself
    signal: int | None = checked(or_none(whole(1, 128)), default=None)  # where that ended it
    started_at: float | None = checked(or_none(number()), default=None)
    ended_at: float | None = checked(or_none(number()), default=None)


@dataclass(frozen=True, slots=True)
class RunSeen(Shape):
    run: int = checked(whole(1))
    epoch: int = checked(whole())
    state: str = checked(one_of(*RUN_STATES))
    error: str | None = checked(or_none(text()), default=None)
    ranks: tuple[RankSeen, ...] = checked(each(RankSeen, MAX_RANKS, "rank"), default=())


@dataclass(frozen=True, slots=True)
class Beat(Shape):
    """What a node sees, all of it, each time."""

    node: str = checked(text(63, NODE_NAME))
    boot: int = checked(whole(1))  # larger at every start of the agent
    seq: int = checked(whole(1))  # from 1 in each boot
    sent_at: float = checked(number())
    expires_at: float = checked(number())
    agent: str = checked(text(64))
    orders_seq: int = checked(whole())  # the last orders it applied in this boot, or 0
    isolated: bool = checked(flag)  # ranks run under uids of their own
    hardware: str = checked(text(64, _HEX64))  # digest of the inventory
    gpus: tuple[GpuSeen, ...] = checked(each(GpuSeen, MAX_GPUS, "uuid"), default=())
    trespass: tuple[Trespass, ...] = checked(each(Trespass, MAX_FINDINGS), default=())
    findings: tuple[Finding, ...] = checked(each(Finding, MAX_FINDINGS), default=())
    runs: tuple[RunSeen, ...] = checked(each(RunSeen, MAX_RUNS, "run"), default=())

    def refuse_stale(self, *, now: float, boot: int, seq: int) -> None:
        """Against the newest beat heard so far; a larger boot is a restarted agent and always news."""
        if now > self.expires_at:
            raise Refused("expired", f"Beat {self.seq} expired {now - self.expires_at:.0f} s ago.")
        if self.boot < boot:
            raise Refused("wrong_boot", f"The beat is of boot {self.boot}; the node is at {boot}.")
        if self.boot == boot and self.seq <= seq:
            raise Refused("replayed", f"Beat {self.seq} is not newer than {seq}.")


@dataclass(frozen=True, slots=True)
class RunWanted(Shape):
    run: int = checked(whole(1))
    epoch: int = checked(whole())
    digest: str = checked(text(64, _HEX64))  # of the spec the agent fetches
    want: str = checked(one_of("run", "stop"), default="run")
    grace_s: float = checked(number(0, 86_400), default=DEFAULT_GRACE_S)


@dataclass(frozen=True, slots=True)
class Orders(Shape):
    """All a node should be running; what is not listed is stopped and forgotten."""

    node: str = checked(text(63, NODE_NAME))
    boot: int = checked(whole())  # of the agent it speaks to
    seq: int = checked(whole(1))  # strictly increasing per node
    sent_at: float = checked(number())
    expires_at: float = checked(number())
    ack: int = checked(whole(), default=0)  # the newest beat heard of this boot
    beat_every_s: float = checked(number(0.1, 60), default=2.0)
    runs: tuple[RunWanted, ...] = checked(each(RunWanted, MAX_RUNS, "run"), default=())

    def refuse_stale(self, *, now: float, boot: int, seq: int) -> None:
        """Against this agent's own boot and the newest orders it applied in it."""
        if now > self.expires_at:
            raise Refused("expired", f"Orders {self.seq} expired {now - self.expires_at:.0f} s ago.")
        if self.boot != boot:
            raise Refused("wrong_boot", f"The orders are for boot {self.boot}; this agent is at {boot}.")
        if self.seq <= seq:
            raise Refused("replayed", f"Orders {self.seq} are not newer than {seq}.")
