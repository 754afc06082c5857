"""What is true at one instant of a replay, and what a thinker may know of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf, nan

from scheduler.core.model import Seat
from scheduler.core.policy import Policy
from scheduler.sim.floor import Floor
from scheduler.sim.line import Line
from scheduler.sim.site import Ints, Site
from scheduler.sim.usage import Usage
from scheduler.sim.work import Progress
from scheduler.sim.workload import Ask, Cluster


class Phase(Enum):
    """Where a job is in its life; the last four are ends."""

    COMING = "coming"
    BLOCKED = "blocked"  # submitted, but a job it follows has not finished, or its time has not come
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    LIMIT = "limit"
    IMPOSSIBLE = "impossible"
    UNFINISHED = "unfinished"


@dataclass(slots=True)
class Life:
    """What has happened to a job so far."""

    phase: Phase = Phase.COMING
    runs: int = 0
    kept: float = 0.0  # work that counts, as of the last stop
    limit_s: float | None = None  # of each of its runs: its own, or what it was given at a start
    first_start: float | None = None
    stops: list[float] = field(default_factory=list)  # when it was stopped for the sake of others
    ran_until: float | None = None  # when its last run ended


@dataclass(frozen=True, slots=True)
class Request:
    """A run was asked to stop: when, why, for which job, and when it will be gone."""

    at: float
    why: str
    sake: int
    gone_at: float
    acks: bool


@dataclass(slots=True, eq=False)
class Run:
    """One attempt of a job, from its start on."""

    job: int
    number: int
    seats: tuple[Seat, ...]
    cells: Ints
    gpu_type: str
    started: float
    progress: Progress
    limit_s: float | None
    asked: Request | None = None

    @property
    def ends_by(self) -> float:
        """When it is gone by its limit, or by the ask; infinite where nobody knows."""
        if self.asked:
            return self.asked.gone_at
        # The limit counts useful seconds, so what was done before `since` has used up some of it.
        used = self.progress.seconds(self.progress.mark)
        return inf if self.limit_s is None else self.progress.since + self.limit_s - used


@dataclass(frozen=True, slots=True)
class Past:
    """A job that is over: what history teaches."""

    job: int
    useful_s: float  # how long it would have run without interruption
    finished: bool  # else its limit stopped it
    at: float


@dataclass(frozen=True, slots=True)
class Oracle:
    """What only the clock may know. No thinker reads it."""

    durations: tuple[float, ...]


class World:
    """The whole state. Thinkers read it; only runs.py, arrivals.py and the clock change it. Jobs are numbered by submission, nodes by name."""

    def __init__(self, cluster: Cluster, asks: Sequence[Ask], policy: Policy) -> None:
        ordered = sorted(asks, key=lambda ask: ask.submit_s)  # stable: equal times stay in file order
        self.oracle = Oracle(tuple(ask.duration_s for ask in ordered))
        self.asks = tuple(replace(ask, duration_s=nan) for ask in ordered)
        self.policy = policy
        self.site = Site(cluster)
        self.floor = Floor(self.site)
        self.now = 0.0
        self.come = 0  # how many jobs have been submitted
        self.lives = [Life(limit_s=ask.limit_s) for ask in ordered]
        self.line = Line()  # who could start if there were room
        self.blocked: dict[int, int] = {}  # job: how many of the jobs it follows have not finished
        self.running: dict[int, Run] = {}  # by job; in the order of their starts
        self.broken: dict[int, tuple[int, ...]] = {}  # job: rows on which its run lost GPUs, to be mended now
        self.held: defaultdict[tuple[str, str], int] = defaultdict(int)  # GPUs, by team and GPU type
        self.usage = Usage(policy.half_life_s)
        self.user_stops: defaultdict[tuple[str, str], list[float]] = defaultdict(list)  # by team and user
        self.freed_for: dict[int, list[Seat]] = {}  # what was freed for the sake of a job that still waits
        self.falls: list[list[float]] = [[] for _ in self.site.names]  # when each node, or a part of it, fell
        self.history: list[Past] = []  # in the order in which jobs ended

    def number_of(self) -> dict[str, int]:
        """The number of each job, by its id."""
        return {ask.job: job for job, ask in enumerate(self.asks)}
