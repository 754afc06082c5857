"""The words of the planner: everything it may decide."""

from dataclasses import dataclass
from enum import StrEnum

from scheduler.core.model import Claim, Facts, Promise, Seat
from scheduler.core.reasons import Reason


class Why(StrEnum):
    """By which rule a run is stopped, least harm first."""

    MOVED = "moved"
    RECLAIMED = "reclaimed"
    RECALLED = "recalled"
    PREEMPTED = "preempted"


@dataclass(frozen=True, slots=True)
class Start:
    """Start this job now, on these seats; the order of the seats is the order of the node ranks."""

    job: int
    job_version: int
    seats: tuple[Seat, ...]
    on_recall: bool = False  # it starts ahead of an older job, with no limit that proves it harmless


@dataclass(frozen=True, slots=True)
class Receipt:
    """Why this one: what stopping it loses, and what else was considered at which cost."""

    lost_gpu_s: float
    rule: Facts
    rejected: tuple[Facts, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask this run to save its work and go, for another job."""

    job: int
    why: Why
    for_job: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Swap:
    """Replace the lost seats of a running gang; the others stay where they are."""

    job: int
    out: Seat
    into: Seat


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
    stops: tuple[Stop, ...] = ()
    swaps: tuple[Swap, ...] = ()
    claims: tuple[Claim, ...] = ()
    promises: tuple[Promise, ...] = ()
    order: tuple[int, ...] = ()  # waiting jobs that may be considered, first to last
    restarts: tuple[int, ...] = ()  # gangs that lost a place which nothing can replace
