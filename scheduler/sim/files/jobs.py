"""JOBS.csv: one row for each job that comes."""

from scheduler.core.model import Tier
from scheduler.sim.files import cells, chains, shapes
from scheduler.sim.files.bad import BadFile, Wrong
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.workload import LEVELS, Ask

TIERS = {tier.name.lower(): tier for tier in sorted(Tier, reverse=True)}
NEEDED = ("job", "submit_s", "duration_s")


def read_jobs(text: str, name: str) -> tuple[Ask, ...]:
    """The jobs of a file, in its order."""
    asks: list[Ask] = []
    line_of: dict[str, int] = {}
    for ask in entries(text, name, _ask, columns=READ, needed=NEEDED):
        if ask.job in line_of:
            twice = f"job {ask.job} already stands in line {line_of[ask.job]}; give each job an id of its own"
            raise BadFile(name, ask.line, "job", twice)
        line_of[ask.job] = ask.line
        asks.append(ask)
    if broken := chains.broken(asks):
        raise BadFile(name, broken.line, "after", broken.sentence)
    return tuple(asks)


def _ask(values: Values, line: int) -> Ask:
    shapes.settle(values)
    level, required = values.pop("topology", ("", False))
    values.setdefault("preemptible", values.get("tier") is not Tier.PRODUCTION)
    gpu_types = values.pop("gpu_type", ())
    return Ask(**values, gpu_types=gpu_types, level=level, required=required, line=line)


def _tier(cell: str) -> Tier:
    if cell not in TIERS:
        raise Wrong(
            f"{cells.shown(cell)} is no tier; write {', '.join(TIERS)}, or leave it blank for standard"
        )
    return TIERS[cell]


def _topology(cell: str) -> tuple[str, bool]:
    level, colon, strength = cell.partition(":")
    if level not in LEVELS or (colon and strength not in ("required", "preferred")):
        levels = f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}"
        raise Wrong(
            f"{cells.shown(cell)} is no topology; write {levels} with :required or :preferred after it"
        )
    return level, strength == "required"  # a level alone is preferred


def _features(cell: str) -> frozenset[str]:
    return frozenset(cells.names(cell))


READ: Columns = {
    "job": cells.name,
    "submit_s": cells.seconds,
    "duration_s": cells.seconds,
    "gpus": cells.count,
    "nodes": cells.count,
    "gpus_per_node": cells.count,
    "team": cells.name,
    "user": cells.name,
    "tier": _tier,
    "gpu_type": cells.names,
    "pool": cells.name,
    "limit_s": cells.seconds_above_zero,
    "tp": cells.count,
    "topology": _topology,
    "checkpoint_s": cells.seconds_above_zero,
    "restart_s": cells.seconds,
    "preemptible": cells.yes_or_no,
    "min_gpus": cells.count,
    "after": cells.names,
    "gpu_memory_gib": cells.amount,
    "features": _features,
    "cpus_per_gpu": cells.amount,
    "memory_gib_per_gpu": cells.amount,
    "spot_share": cells.share,
    "not_before_s": cells.seconds,
    "deadline_s": cells.seconds,
}
