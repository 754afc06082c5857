"""The files of a replay, written: what the readers read, so that other programs can have it too."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

from scheduler.core.model import Tier
from scheduler.sim.workload import Ask, Cluster, Crew, Fault, Machine

Cell = Callable[[Ask], object]


def cluster_json(cluster: Cluster) -> str:
    """CLUSTER.json: one line for each node and each team."""
    parts = [("nodes", [_node(machine) for machine in cluster.machines])]
    if cluster.crews is not None:
        parts.append(("teams", [_team(crew) for crew in cluster.crews]))
    return "{" + ",\n ".join(f'"{name}": [{_lines(rows)}]' for name, rows in parts) + "}\n"


def jobs_csv(asks: Iterable[Ask]) -> str:
    """JOBS.csv, with the columns that are needed and those in which some job differs from the default."""
    asks = tuple(asks)
    columns = {
        title: [_written(cell(ask)) for ask in asks]
        for title, cell in _COLUMNS.items()
        if title in _ALWAYS or any(cell(ask) not in ("", None) for ask in asks)
    }
    return _table(columns, zip(*columns.values(), strict=True))


def faults_csv(faults: Iterable[Fault]) -> str:
    """FAULTS.csv."""
    rows = ((_written(each.t_s), each.node, each.event, _joined(each.gpus or ())) for each in faults)
    return _table(("t_s", "node", "event", "gpus"), rows)


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()


def _lines(rows: list[dict[str, object]]) -> str:
    return ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)


def _node(machine: Machine) -> dict[str, object]:
    """What differs from the default; features as a list."""
    told = {each.name: getattr(machine, each.name) for each in fields(Machine)}
    told["features"] = sorted(machine.features) or None
    if machine.nvlink_domain == machine.gpus:
        del told["nvlink_domain"]
    # By identity: 0.0 == False, and no CPUs are not the default.
    return {
        key: value for key, value in told.items() if value is not None and value is not False and value != ""
    }


def _team(crew: Crew) -> dict[str, object]:
    quota = {
        gpu_type: {"nominal": share.nominal, "borrow": share.borrow, "lend": share.lend}
        for gpu_type, share in crew.quota.items()
    }
    return {"name": crew.name, "parent": crew.parent, "weight": crew.weight, "quota": quota}


def _written(value: object) -> str:
    """A cell, exactly: the reader gets the same number back."""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return "" if value is None else str(value)


def _joined(names: Iterable[object]) -> str:
    return "|".join(map(str, names))


def _unless(default: object, name: str) -> Cell:
    def cell(ask: Ask) -> object:
        value = getattr(ask, name)
        return None if value == default else value

    return cell


def _tier(ask: Ask) -> str:
    return "" if ask.tier is Tier.STANDARD else ask.tier.name.lower()


def _topology(ask: Ask) -> str:
    return ask.level and f"{ask.level}:{'required' if ask.required else 'preferred'}"


def _preemptible(ask: Ask) -> str:
    return "" if ask.preemptible == (ask.tier is not Tier.PRODUCTION) else str(int(ask.preemptible))


_ALWAYS = ("job", "submit_s", "duration_s", "gpus")
_COLUMNS: Mapping[str, Cell] = {
    **{name: _unless(None, name) for name in (*_ALWAYS, "nodes", "gpus_per_node")},
    **{name: _unless("default", name) for name in ("team", "user")},
    "tier": _tier,
    "gpu_type": lambda ask: _joined(ask.gpu_types),
    "pool": _unless("", "pool"),
    "limit_s": _unless(None, "limit_s"),
    "tp": _unless(1, "tp"),
    "topology": _topology,
    "checkpoint_s": _unless(None, "checkpoint_s"),
    "restart_s": _unless(60.0, "restart_s"),
    "preemptible": _preemptible,
    "min_gpus": lambda ask: None if ask.min_gpus == ask.gpus else ask.min_gpus,
    "after": lambda ask: _joined(ask.after),
    **{name: _unless(0.0, name) for name in ("gpu_memory_gib", "cpus_per_gpu", "memory_gib_per_gpu")},
    "features": lambda ask: _joined(sorted(ask.features)),
    "spot_share": _unless(1.0, "spot_share"),
    "not_before_s": _unless(0.0, "not_before_s"),
    "deadline_s": _unless(None, "deadline_s"),
}
