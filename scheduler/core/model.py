"""The words of the planner: what it may know (Snapshot) and what it decides (Plan)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scheduler.core.reasons import Reason

# Plain JSON values, so that a verdict can be stored and compared as it is.
Fact: TypeAlias = int | float | str | list[int] | list[str]
Facts: TypeAlias = Mapping[str, Fact]


class Tier(IntEnum):
    """What goes first: production before standard before opportunistic."""

    OPPORTUNISTIC = 0
    STANDARD = 1
    PRODUCTION = 2


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with GPUs of one type, and where it stands."""

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

    @property
    def gpus(self) -> int:
        """How many GPUs it has, free or not."""
        return sum(domain >= 0 for domain in self.nvlink)


@dataclass(frozen=True, slots=True)
class Job:
    """What a waiting job asks for: a fixed shape, `gpus_per_node` on each of `nodes` nodes of one type."""

    id: int
    version: int
    team: str
    user: str
    tier: Tier
    submitted_at: datetime
    nodes: int
    gpus_per_node: int
    gpu_type: str = ""  # "" = any one type
    limit_s: int | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.gpus_per_node < 1:
            raise ValueError(f"job {self.id} must ask for at least one GPU on at least one node")

    @property
    def gpus(self) -> int:
        """How many GPUs the whole gang takes."""
        return self.nodes * self.gpus_per_node

    @property
    def shape(self) -> tuple[int, int, str]:
        """What decides where it fits: thousands of jobs share a few dozen shapes."""
        return self.nodes, self.gpus_per_node, self.gpu_type


@dataclass(frozen=True, slots=True)
class Running:
    """What a run holds now: it counts against quota, and its limit says when its places come free."""

    job: int
    team: str
    tier: Tier
    gpu_type: str
    gpus: int
    nodes: tuple[int, ...]  # node ids
    ends_by: datetime | None = None  # None = no limit, so nobody knows


@dataclass(frozen=True, slots=True)
class Team:
    """A team in the tree, and how many GPUs of each type it and the teams below it may hold."""

    name: str
    parent: str | None = None
    nominal: Mapping[str, int] = field(default_factory=dict)  # type absent = no limit at this level


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything the planner may know. The same snapshot always gives the same plan."""

    taken_at: datetime  # the only "now" in the core
    nodes: tuple[Node, ...]
    # [node row, slot]: the GPU exists and no hold is on it, whatever the node's state.
    # Short nodes are padded with False.
    free: NDArray[np.bool_]
    waiting: tuple[Job, ...] = ()
    running: tuple[Running, ...] = ()
    teams: tuple[Team, ...] = ()

    def __post_init__(self) -> None:
        widest = max((len(node.nvlink) for node in self.nodes), default=0)
        if self.free.ndim != 2 or self.free.shape[0] != len(self.nodes) or self.free.shape[1] < widest:
            raise ValueError("free must have one row per node and one column per slot of the largest node")
        self.free.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Seat:
    """A node and the GPU slots taken on it, as planned."""

    node: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Start this job now, on these seats; the order of the seats is the order of the node ranks."""

    job: int
    job_version: int
    seats: tuple[Seat, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a job does not start now, as numbers; `explain.sentence` words it."""

    job: int
    job_version: int
    reason: Reason
    numbers: Facts
    ahead_jobs: int  # waiting jobs before it in order that accept a GPU type it accepts
    ahead_gpus: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is decided: each waiting job starts or has one verdict."""

    starts: tuple[Start, ...]
    verdicts: tuple[Verdict, ...]
    steps: int = 0  # domains and nodes looked at: the cost, counted instead of timed
