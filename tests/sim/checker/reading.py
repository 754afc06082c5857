"""What the replay was given, read by the letter of the contract into plain records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

DAY = 86_400.0
# Figures that bound stops; they keep nobody out.
STOPS = {"max_preemptions_per_day", "max_user_stops_per_day", "max_stops_per_cycle", "max_recalls"}
TIERS = ("opportunistic", "standard", "production")
NOBODY = "default"  # the owner of jobs that name none


@dataclass(frozen=True, slots=True)
class Node:
    """One machine; what the file leaves out is unlimited."""

    name: str
    pool: str
    gpu_type: str
    gpus: int
    domain: int
    rack: tuple[str, str]
    block: str
    cpus: float
    memory_gib: float
    spot: bool
    gpu_memory_gib: float
    features: frozenset[str]

    def domain_counts(self, indices: Iterable[int]) -> dict[int, int]:
        """How many of these GPUs each NVLink domain has."""
        counts: dict[int, int] = {}
        for index in indices:
            counts[index // self.domain] = counts.get(index // self.domain, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Quota:
    """What a team owns of one GPU type, how far above it may go, how much of it others may use."""

    nominal: int
    borrow: float
    lend: float


@dataclass(frozen=True, slots=True)
class Team:
    """A team of the tree; `quota` has the GPU types that the file names."""

    name: str
    parent: str | None
    quota: Mapping[str, Quota]


@dataclass(frozen=True, slots=True)
class Job:
    """One row of JOBS.csv; `row` breaks ties between equal submit times."""

    name: str
    row: int
    submit_s: float
    duration_s: float
    gpus: int
    shape: tuple[int, int] | None
    team: str
    user: str
    tier: int
    gpu_types: tuple[str, ...]
    pool: str
    limit_s: float
    tp: int
    required: str
    checkpoint_s: float | None
    restart_s: float
    preemptible: bool
    min_gpus: int
    after: tuple[str, ...]
    gpu_memory_gib: float
    features: frozenset[str]
    cpus_per_gpu: float
    memory_gib_per_gpu: float
    spot_share: float
    not_before_s: float


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of FAULTS.csv; no indices means the whole node."""

    t_s: float
    node: str
    state: str
    gpus: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Policy:
    """The figures of POLICY.json that the rules need; None where the file does not say."""

    name: str = "default"
    grace_s: float | None = None
    cycle_s: float | None = None
    min_runtime_s: tuple[float | None, ...] = (None, None, None)
    stops_per_day: int | None = None
    user_stops_per_day: int | None = None
    return_promise_s: float | None = None
    longest_s: tuple[float, ...] = (inf, inf, inf)
    forbids: bool = False
    ages: bool = False  # older production may be protected within a replay, and then it goes first

    @property
    def reference(self) -> bool:
        return self.name in {"fifo", "easy"}


def nodes(cluster: Mapping[str, Any]) -> dict[str, Node]:
    return {row["name"]: _node(row) for row in cluster["nodes"]}


def _node(row: Mapping[str, Any]) -> Node:
    block, rack = row.get("block") or "", row.get("rack") or ""
    return Node(
        name=row["name"],
        pool=row.get("pool") or "default",
        gpu_type=row["gpu_type"],
        gpus=row["gpus"],
        domain=row.get("nvlink_domain") or max(1, row["gpus"]),
        # The contract: "the topology above the node; missing means one for the whole cluster".
        rack=(block, rack) if rack else ("", ""),
        block=block,
        cpus=_or(row.get("cpus"), inf),
        memory_gib=_or(row.get("memory_gib"), inf),
        spot=bool(row.get("spot")),
        gpu_memory_gib=_or(row.get("gpu_memory_gib"), inf),
        features=frozenset(row.get("features") or ()),
    )


def teams(cluster: Mapping[str, Any]) -> dict[str, Team] | None:
    """None: "`teams` missing altogether: one team without limits.\""""
    if cluster.get("teams") is None:
        return None
    return {row["name"]: Team(row["name"], row.get("parent"), _quotas(row)) for row in cluster["teams"]}


def _quotas(row: Mapping[str, Any]) -> dict[str, Quota]:
    return {
        kind: Quota(given.get("nominal") or 0, _or(given.get("borrow"), inf), _or(given.get("lend"), inf))
        for kind, given in (row.get("quota") or {}).items()
    }


def jobs(rows: Iterable[Mapping[str, str]]) -> dict[str, Job]:
    return {row["job"]: _job(number, row) for number, row in enumerate(rows)}


def _job(number: int, row: Mapping[str, str]) -> Job:
    shape = (int(row["nodes"]), int(row["gpus_per_node"])) if _has(row, "nodes", "gpus_per_node") else None
    gpus = int(row["gpus"]) if _has(row, "gpus") else shape[0] * shape[1] if shape else 0
    tier = TIERS.index(row.get("tier") or "standard")
    level, _, strength = (row.get("topology") or "").partition(":")
    return Job(
        name=row["job"],
        row=number,
        submit_s=float(row["submit_s"]),
        duration_s=float(row["duration_s"]),
        gpus=gpus,
        shape=shape,
        team=row.get("team") or "default",
        user=row.get("user") or NOBODY,
        tier=tier,
        gpu_types=_several(row, "gpu_type"),
        pool=row.get("pool") or "",
        limit_s=_number(row, "limit_s", inf),
        tp=int(row.get("tp") or 1),
        required=level if strength == "required" else "",
        checkpoint_s=_number(row, "checkpoint_s", 0) or None,
        restart_s=_number(row, "restart_s", 60),
        preemptible=(row.get("preemptible") or "01"[tier < TIERS.index("production")]) == "1",
        min_gpus=int(row.get("min_gpus") or gpus),
        after=_several(row, "after"),
        gpu_memory_gib=_number(row, "gpu_memory_gib", 0),
        features=frozenset(_several(row, "features")),
        cpus_per_gpu=_number(row, "cpus_per_gpu", 0),
        memory_gib_per_gpu=_number(row, "memory_gib_per_gpu", 0),
        spot_share=_number(row, "spot_share", 1),
        not_before_s=_number(row, "not_before_s", 0),
    )


def faults(rows: Iterable[Mapping[str, str]]) -> list[Fault]:
    return [_fault(row) for row in rows]


def _fault(row: Mapping[str, str]) -> Fault:
    some = tuple(sorted(int(part) for part in _several(row, "gpus")))
    return Fault(float(row["t_s"]), row["node"], row["event"], some or None)


def policy(given: Mapping[str, Any] | None) -> Policy:
    if given is None:
        return Policy()
    runtime, longest = _by_tier(given.get("min_runtime_s")), _by_tier(given.get("max_duration_s"))
    return Policy(
        name=given.get("name") or "default",
        grace_s=given.get("grace_s"),
        cycle_s=given.get("cycle_s"),
        min_runtime_s=tuple(runtime.get(tier) for tier in TIERS),
        stops_per_day=given.get("max_preemptions_per_day"),
        user_stops_per_day=given.get("max_user_stops_per_day"),
        return_promise_s=given.get("return_promise_s"),
        longest_s=tuple(_or(longest.get(tier), inf) for tier in TIERS),
        forbids=any(_forbids(key) and _says(value) for key, value in given.items()),
        ages=given.get("guard_share", 1) * given.get("protect_after_s", inf) < DAY
        or min(given.get("guard_share", 1), given.get("protect_again_s", inf) / DAY) < 0.5,
    )


def _by_tier(given: Any) -> Mapping[str, Any]:
    """A figure may be one for all tiers."""
    return given if isinstance(given, Mapping) else dict.fromkeys(TIERS, given)


def limited(jobs: Mapping[str, Job], policy: Policy) -> dict[str, Job]:
    """Under the policy `default` a job without a limit starts with the longest that its tier may have."""
    if policy.reference:
        return dict(jobs)
    return {
        name: replace(job, limit_s=policy.longest_s[job.tier]) if job.limit_s == inf else job
        for name, job in jobs.items()
    }


def _forbids(key: str) -> bool:
    """Whether a figure may keep a job out for good, so that no rule here can tell what is impossible."""
    return key not in STOPS and any(
        word in key for word in ("max_", "duration", "concurrent", "admission", "reserved", "pool", "peak")
    )


def _says(value: Any) -> bool:
    """Whether a figure bounds anything: null is no bound."""
    return any(one is not None for one in value.values()) if isinstance(value, Mapping) else bool(value)


def _has(row: Mapping[str, str], *columns: str) -> bool:
    return all(row.get(column) for column in columns)


def _several(row: Mapping[str, str], column: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in (row.get(column) or "").split("|") if part.strip())


def _number(row: Mapping[str, str], column: str, default: float) -> float:
    return float(row[column]) if row.get(column) else default


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)
