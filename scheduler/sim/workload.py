"""The words of a replay's input: the machines and teams of a cluster, the jobs that come, the faults that happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.core.model import Tier

LEVELS = ("node", "rack", "block")  # from the tightest to the widest


@dataclass(frozen=True, slots=True)
class Machine:
    """A node with GPUs of one type: where it stands, and what else it has."""

    name: str
    pool: str = "default"
    gpu_type: str = "GPU"
    gpus: int = 8
    nvlink_domain: int = 8  # consecutive indices that share NVLink; the last domain may be shorter
    rack: str = ""  # "" = the file named none: one for the whole cluster
    block: str = ""
    cpus: float | None = None  # None = unlimited
    memory_gib: float | None = None  # None = unlimited
    spot: bool = False
    gpu_memory_gib: float | None = None  # None = unknown, so no job that asks for some is sure of it
    features: frozenset[str] = frozenset()

    @property
    def nvlink(self) -> tuple[int, ...]:
        """The NVLink domain of each GPU index."""
        return tuple(index // self.nvlink_domain for index in range(self.gpus))


@dataclass(frozen=True, slots=True)
class Share:
    """What a team may hold of one GPU type."""

    nominal: int
    borrow: int | None = None  # how far above nominal; None = no limit
    lend: int | None = None  # how much of its idle nominal others may use; None = all of it


@dataclass(frozen=True, slots=True)
class Crew:
    """A team of CLUSTER.json."""

    name: str
    parent: str | None = None
    weight: float = 1.0
    quota: Mapping[str, Share] = field(default_factory=dict)  # by GPU type


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything CLUSTER.json says."""

    machines: tuple[Machine, ...]
    crews: tuple[Crew, ...] | None = None  # None = `teams` is missing: one team without limits

    @property
    def gpus(self) -> int:
        """How many GPUs there are when every machine is well."""
        return sum(machine.gpus for machine in self.machines)


@dataclass(frozen=True, slots=True)
class Ask:
    """One row of JOBS.csv: what a job asks for, and the work it will turn out to be."""

    job: str
    submit_s: float
    duration_s: float  # known to the clock alone, never to a planner
    gpus: int
    nodes: int | None = None  # an exact shape: then gpus = nodes x gpus_per_node
    gpus_per_node: int | None = None
    team: str = "default"
    user: str = "default"
    tier: Tier = Tier.STANDARD
    gpu_types: tuple[str, ...] = ()  # in order of preference; () = any one type
    pool: str = ""  # "" = any
    limit_s: float | None = None
    tp: int = 1
    level: str = ""  # "" or one of LEVELS
    required: bool = False  # of `level`: wait for such a place, instead of only preferring it
    checkpoint_s: float | None = None  # None = it never checkpoints
    restart_s: float = 60.0
    preemptible: bool = True
    min_gpus: int = 0  # 0 becomes gpus: not elastic
    after: tuple[str, ...] = ()
    gpu_memory_gib: float = 0.0
    features: frozenset[str] = frozenset()
    cpus_per_gpu: float = 0.0
    memory_gib_per_gpu: float = 0.0
    spot_share: float = 1.0  # the largest share of its GPUs on spot machines; 1 = no constraint
    not_before_s: float = 0.0
    deadline_s: float | None = None
    line: int = 0  # of the file it came from

    def __post_init__(self) -> None:
        if self.min_gpus == 0:
            object.__setattr__(self, "min_gpus", self.gpus)


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of FAULTS.csv: a node, or some of its GPUs, goes down, comes up, or drains."""

    t_s: float
    node: str
    event: str  # "down", "up" or "drain"
    gpus: tuple[int, ...] | None = None  # None = the whole node
    line: int = 0
