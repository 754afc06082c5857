"""What happened in a replay, in the words and the order of the events file."""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Place:
    """GPUs of one node, by their names."""

    node: str
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Submitted:
    t: float
    job: str


@dataclass(frozen=True, slots=True)
class Estimated:
    t: float
    job: str
    p50_s: float
    p90_s: float


@dataclass(frozen=True, slots=True)
class Started:
    t: float
    job: str
    run: int
    seats: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    t: float
    job: str
    run: int
    why: str
    sake: str


@dataclass(frozen=True, slots=True)
class Stopped:
    t: float
    job: str
    run: int
    why: str
    sake: str  # "" = for nobody: its limit, or its node
    acked: bool
    lost_gpu_s: float


@dataclass(frozen=True, slots=True)
class Swapped:
    t: float
    job: str
    run: int
    out: str
    into: Place
    lost_gpu_s: float


@dataclass(frozen=True, slots=True)
class Finished:
    t: float
    job: str
    run: int


@dataclass(frozen=True, slots=True)
class Impossible:
    t: float
    job: str
    why: str


@dataclass(frozen=True, slots=True)
class NodeChanged:
    t: float
    node: str
    state: str  # "down", "up" or "drain"
    gpus: tuple[int, ...] | None = None  # None = the whole node


Event: TypeAlias = (
    Submitted | Estimated | Started | Asked | Stopped | Swapped | Finished | Impossible | NodeChanged
)
WORDS: dict[type[Event], str] = {
    Submitted: "submit",
    Estimated: "estimate",
    Started: "start",
    Asked: "ask",
    Stopped: "stop",
    Swapped: "swap",
    Finished: "finish",
    Impossible: "impossible",
    NodeChanged: "node",
}
# Words of the file that Python keeps for itself, or that say less in code.
SPELLED = {"sake": "for", "into": "in"}


def plain(event: Event) -> dict[str, Any]:
    """The event as JSON values, its fields in the contract's order; what does not apply is left out."""
    told: dict[str, Any] = {"t": float(event.t), "event": WORDS[type(event)]}
    for field in event.__slots__[1:]:
        value = getattr(event, field)
        if value is not None and not (field == "sake" and value == ""):
            told[SPELLED.get(field, field)] = _plain(value)
    return told


def line(event: Event) -> str:
    """One line of the events file."""
    return json.dumps(plain(event), ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Place):
        return {"node": value.node, "gpus": list(value.gpus)}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return value
