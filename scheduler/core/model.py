"""The words of the planner: everything it may know. What it decides is in verbs.py."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason

# Plain JSON values, so that a verdict can be stored and compared as it is.
Fact: TypeAlias = int | float | str | list[int] | list[str]
Facts: TypeAlias = Mapping[str, Fact]
# Seconds since 1970 (in a replay: since its start). The core has no zone and no clock.
Moment: TypeAlias = float


class Tier(IntEnum):
    """What goes first: production before standard before opportunistic."""

    OPPORTUNISTIC = 0
    STANDARD = 1
    PRODUCTION = 2

    @property
    def word(self) -> str:
        """Its name in policies and sentences."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with units of one type (whole GPUs, or slices of one kind), and where it stands."""

    id: int
    name: str
    cluster: str
    pool: str
    block: str
    rack: str
    gpu_type: str
    nvlink: tuple[int, ...]  # NVLink domain number per slot; negative = no GPU in this slot
    usable: bool = True  # approved, heard, not drained, not lost
    why_not: str = ""  # "" | "drained" | "silent" | "lost" | "pending" (not approved yet)
    gpu_memory_gib: float | None = None  # None = unknown, which satisfies every wish
    cpus: float | None = None  # None = unlimited
    memory_gib: float | None = None
    scratch_gib: float | None = None
    features: frozenset[str] = frozenset()
    spot: bool = False
    sliced: bool = False  # its units are slices or shares of GPUs: only in pools that share
    lemon: int = 0  # how often it failed lately: the higher, the later it is used

    @property
    def gpus(self) -> int:
        """How many GPUs it has, free or not."""
        return sum(domain >= 0 for domain in self.nvlink)


@dataclass(frozen=True, slots=True)
class Request:
    """What decides where a job fits: thousands of jobs share a few dozen requests."""

    gpus: int  # of the whole gang
    nodes: int = 0  # an exact shape: gpus / nodes on each of so many; 0 = the planner chooses the shape
    tp: int = 1  # ranks come in groups of so many that never leave an NVLink domain
    min_gpus: int = 0  # an elastic job takes any multiple of tp from here on; 0 = gpus
    level: str = ""  # "" | "node" | "rack" | "block": all seats inside one of these
    required: bool = False  # else the level is a wish
    gpu_types: tuple[str, ...] = ()  # accepted, best first; () = any one type
    pool: str = ""
    features: frozenset[str] = frozenset()
    gpu_memory_gib: float = 0.0
    cpus_per_gpu: float = 0.0
    memory_gib_per_gpu: float = 0.0
    scratch_gib_per_gpu: float = 0.0
    spot_share: float = 1.0  # the share of its GPUs that may sit on spot nodes
    spread: bool = False  # over as many racks as it has nodes, instead of as few as possible
    _hash: int = field(default=0, init=False, repr=False, compare=False)  # it is looked up all the time

    def __post_init__(self) -> None:
        if self.gpus < 1 or self.tp < 1 or self.nodes < 0 or (self.nodes and self.gpus % self.nodes):
            raise ValueError("a request asks for at least one GPU, the same number on each of its nodes")
        if (self.gpus // (self.nodes or 1)) % self.tp:
            raise ValueError("the GPUs of a request come in whole tensor-parallel groups")
        object.__setattr__(self, "_hash", hash(_WISHES(self)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["Request"], tuple[object, ...]]:
        """Made anew elsewhere: names have another hash in another process."""
        return Request, _WISHES(self)

    @property
    def per_node(self) -> int:
        """GPUs on each node of an exact shape; 0 where the planner chooses."""
        return self.gpus // self.nodes if self.nodes else 0

    @property
    def least(self) -> int:
        """The fewest GPUs it starts with."""
        return self.min_gpus or self.gpus


_WISHES: Callable[[Request], tuple[object, ...]] = attrgetter(
    *(each.name for each in fields(Request) if each.compare)
)


@dataclass(frozen=True, slots=True)
class Gate:
    """What keeps a job from being considered at all, as one reason of the closed list with its numbers."""

    reason: Reason  # HELD, NOT_BEFORE, DEPENDS, RETRYING or NOT_ALLOWED
    numbers: Facts = field(default_factory=dict)
    until: Moment | None = None  # when it opens by itself, where that is known


@dataclass(frozen=True, slots=True)
class Job:
    """A waiting job: who asks for what, since when, and what is known of its past."""

    id: int
    version: int
    team: str
    user: str
    tier: Tier
    submitted_at: Moment
    request: Request
    limit_s: float | None = None
    forecast_s: float | None = None  # seconds of running that one such end costs, by history; None = unknown
    p90_s: float | None = None  # nine of ten such jobs have ended after so long
    seen_s: float = 0.0  # it ran so long before without coming to its end
    preemptible: bool = True
    checkpoints: bool = False  # it saves its work when asked, and acknowledges
    restart_s: float = 60.0
    deadline: Moment | None = None
    gate: Gate | None = None
    stops: int = 0  # how often it was stopped for others: it counts against max_recalls
    stops_today: int = 0  # within the last 24 hours
    stopped_at: Moment | None = None  # when that was for the last time; it has waited since then
    ran_until: Moment | None = None  # when its last run ended, whatever ended it


@dataclass(frozen=True, slots=True)
class Seat:
    """A node and the GPU slots taken on it, as planned."""

    node: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """What a run holds now, until when, and what stopping it would lose."""

    job: int
    team: str
    tier: Tier
    gpu_type: str
    seats: tuple[Seat, ...]
    request: Request
    started_at: Moment
    user: str = ""
    submitted_at: Moment = 0.0
    version: int = 0
    ends_by: Moment | None = None  # by its limit; None = no limit
    expected_end: Moment | None = None  # by history; None = nobody knows
    seen_s: float = 0.0  # it ran so long in earlier runs without coming to its end
    saved_at: Moment | None = None  # what it did until then is safe; None = nothing is
    useful_from: Moment | None = None  # when it came to be useful again after a restart; None = started_at
    preemptible: bool = True
    checkpoints: bool = False
    restart_s: float = 60.0
    stops: int = 0  # of this job so far
    stops_today: int = 0  # within the last 24 hours
    stopping: bool = False  # asked to stop: what it holds comes free within the grace
    asked_at: Moment | None = None
    gpus: int = field(default=0, init=False, compare=False)  # that it holds

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", sum(len(seat.slots) for seat in self.seats))


@dataclass(frozen=True, slots=True)
class Share:
    """What a team with all teams below it may hold of one GPU type."""

    nominal: int
    borrow: int | None = None  # how far above nominal it may go; None = no limit
    lend: int | None = None  # how much of its idle nominal others may use; None = all


@dataclass(frozen=True, slots=True)
class Team:
    """A team in the tree; a type without a share has no limit and no promise at this level."""

    name: str
    parent: str | None = None
    quota: Mapping[str, Share] = field(default_factory=dict)
    weight: float = 1.0  # of the surplus; 0 = comes last
    priority: int = 0  # surplus goes to the higher first, then by share


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window or a reservation by a person: these nodes are not to be used then."""

    begins: Moment
    ends: Moment
    nodes: frozenset[int]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A place that is being made for a job: what its victims free is held for it and nobody else."""

    job: int
    seats: tuple[Seat, ...]
    victims: tuple[int, ...]  # jobs that were asked to go
    since: Moment


@dataclass(frozen=True, slots=True)
class Promise:
    """A planned start: where and when. Later plans may better it; who comes behind never delays it."""

    job: int
    at: Moment
    seats: tuple[Seat, ...]
    protected: bool = False  # its age earned it: what runs on recall makes way when it falls due


@dataclass(frozen=True, slots=True)
class Lost:
    """A running gang that lost some of its places: seats to replace, or the job starts again."""

    job: int
    seats: tuple[Seat, ...]  # on nodes or GPUs that are gone


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything the planner may know. The same snapshot always gives the same plan."""

    taken_at: Moment  # the only "now" in the core
    nodes: tuple[Node, ...]
    # [node row, slot]: the GPU exists, works, and no hold is on it, whatever the node's state.
    # Short nodes are padded with False.
    free: NDArray[np.bool_]
    waiting: tuple[Job, ...] = ()
    running: tuple[Running, ...] = ()
    teams: tuple[Team, ...] = ()
    policy: Policy = field(default_factory=Policy)
    usage: Mapping[tuple[str, str], float] = field(default_factory=dict)  # decayed GPU-seconds by team, user
    windows: tuple[Window, ...] = ()
    claims: tuple[Claim, ...] = ()  # as the plan before left them
    promises: tuple[Promise, ...] = ()  # as the plan before left them
    lost: tuple[Lost, ...] = ()
    user_stops: Mapping[str, int] = field(default_factory=dict)  # stops within 24 hours, by user
    moves_lately: int = 0  # within the last hour

    def __post_init__(self) -> None:
        widest = max((len(node.nvlink) for node in self.nodes), default=0)
        if self.free.ndim != 2 or self.free.shape[0] != len(self.nodes) or self.free.shape[1] < widest:
            raise ValueError("free must have one row per node and one column per slot of the largest node")
        self.free.setflags(write=False)
