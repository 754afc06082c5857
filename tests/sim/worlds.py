"""Random small inputs of a replay: a cluster, jobs that fight for it, faults and a policy, as the contract's files."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

Row = dict[str, str]

COLUMNS = (
    *("job", "submit_s", "duration_s", "gpus", "nodes", "gpus_per_node", "team", "user", "tier", "gpu_type"),
    *("pool", "limit_s", "tp", "topology", "checkpoint_s", "restart_s", "preemptible", "min_gpus", "after"),
    *("gpu_memory_gib", "features", "cpus_per_gpu", "memory_gib_per_gpu", "spot_share", "not_before_s"),
    "deadline_s",
)
FAULT_COLUMNS = ("t_s", "node", "event", "gpus")
ABOVE = {"org": None, "vision": "org", "depth": "vision", "speech": "org", "ops": None}
# One team of the jobs is not among the cluster's: it runs on what others lend.
TEAMS = ("vision", "vision", "depth", "speech", "ops", "org", "stranger")
TIERS = ("production", "standard", "standard", "opportunistic", "opportunistic", "")


@dataclass(frozen=True)
class World:
    """One input; `texts` writes it as the files that the command reads."""

    cluster: dict[str, Any]
    jobs: list[Row]
    faults: list[Row] = field(default_factory=list)
    policy: dict[str, Any] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        """CLUSTER.json, JOBS.csv, FAULTS.csv and POLICY.json, by these names."""
        return {
            "CLUSTER.json": json.dumps(self.cluster, indent=1),
            "JOBS.csv": _table(COLUMNS, self.jobs),
            "FAULTS.csv": _table(FAULT_COLUMNS, self.faults),
            "POLICY.json": json.dumps(self.policy, indent=1),
        }


def _table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Only the columns that some row fills: blank and missing mean the same."""
    used = [name for name in columns if any(row.get(name) for row in rows)] or list(columns)
    out = io.StringIO()
    writer = csv.DictWriter(out, used, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def worlds(most_nodes: int = 8, most_jobs: int = 40, **features: bool) -> st.SearchStrategy[World]:
    """Sizes shrink; the rest comes from one seed. `faults=False`, `teams=False` leave these out."""
    sizes = st.integers(2, most_nodes), st.integers(5, most_jobs)
    return st.builds(
        lambda nodes, jobs, seed: build(nodes, jobs, seed, **features), *sizes, st.integers(0, 2**32 - 1)
    )


def build(nodes: int, jobs: int, seed: int, *, faults: bool = True, teams: bool = True) -> World:
    """A cluster with about twice the work that fits at once, in bursts."""
    dice = Random(seed)
    plain = dice.random() < 0.4  # every second or third cluster is all alike, so that gangs can be large
    machines = [_node(dice, number, plain) for number in range(nodes)]
    cluster: dict[str, Any] = {"nodes": machines}
    if teams and dice.random() < 0.8:
        cluster["teams"] = _teams(dice, machines)
    pace = dice.choice((0, 20, 120, 600))
    rows, now = list[Row](), 0.0
    for number in range(jobs):
        now += dice.choice((0, 0, 1, 1, 3)) * pace * dice.random()
        rows.append(_job(dice, number, round(now, dice.choice((0, 3))), machines))
    broken = _faults(dice, machines, now + 1000) if faults and dice.random() < 0.6 else []
    return World(cluster, rows, broken, policies(dice))


def policies(dice: Random) -> dict[str, Any]:
    """Figures that let stops happen within minutes; the names are the contract's."""
    usual = {
        "half_life_s": dice.choice((600, 604800)),
        "min_runtime_s": {
            "production": dice.choice((0, 300)),
            "standard": dice.choice((0, 60, 300)),
            "opportunistic": dice.choice((0, 0, 60)),
        },
        "max_preemptions_per_day": dice.choice((1, 3, 10)),
        "grace_s": dice.choice((0, 10, 60)),
        "cycle_s": dice.choice((5, 30)),
    }
    return usual | _unusual(dice)


def _unusual(dice: Random) -> dict[str, Any]:
    """Now and then figures with which age, recalls, moves, spares and promises matter within minutes."""
    figures: tuple[tuple[str, tuple[float, ...]], ...] = (
        ("recall_after_s", (0, 120)),
        ("recall_worth", (0.2, 1)),
        ("protect_after_s", (0, 600)),
        ("protect_again_s", (0, 1200)),
        ("guard_share", (0, 1)),
        ("max_recalls", (0, 1)),
        ("max_stops_per_cycle", (1, 2)),
        ("max_user_stops_per_day", (1, 3)),
        ("spare_nodes", (1,)),
        ("moves_per_hour", (0, 50)),
        ("move_safety", (0.1,)),
        ("reservation_depth", (0, 2)),
        ("relax_after_s", (0, 300)),
    )
    if dice.random() < 0.3:
        return {}
    return {name: dice.choice(values) for name, values in figures if dice.random() < 0.3}


def _node(dice: Random, number: int, plain: bool) -> dict[str, Any]:
    gpus = 8 if plain else dice.choice((1, 2, 4, 8, 8))
    block = dice.randrange(2)
    row: dict[str, Any] = {"name": f"n{number:02}", "gpu_type": "A100", "gpus": gpus}
    row |= {"block": f"b{block}", "rack": f"r{block}{dice.randrange(2)}"}
    if plain:
        return row
    row["gpu_type"] = dice.choice(("A100", "A100", "H100"))
    row["gpu_memory_gib"] = {"A100": 40, "H100": 80}[row["gpu_type"]]
    for key, value, chance in (
        ("pool", dice.choice(("train", "spare")), 0.3),
        ("nvlink_domain", dice.choice((1, 2, 4)), 0.4),
        ("cpus", gpus * dice.choice((4, 8)), 0.5),
        ("memory_gib", gpus * dice.choice((32, 64)), 0.5),
        ("spot", True, 0.25),
        ("features", ["ib"], 0.4),
    ):
        if dice.random() < chance:
            row[key] = value
    if row.get("nvlink_domain", 1) > gpus:
        del row["nvlink_domain"]
    return row


def _teams(dice: Random, machines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Quotas of all kinds: shared out, too much, none; without limits, and with them."""
    if dice.random() < 0.6:
        return _shared_out(dice, machines)
    return [
        {
            "name": name,
            "parent": parent,
            "weight": dice.choice((0.0, 0.5, 1.0, 2.0)),
            "quota": _quota(dice, machines),
        }
        for name, parent in ABOVE.items()
    ]


def _shared_out(dice: Random, machines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Teams own what their parent owns, or less: no promise is made twice."""
    left: dict[tuple[str | None, str], int] = {}
    for node in machines:
        left[None, node["gpu_type"]] = left.get((None, node["gpu_type"]), 0) + node["gpus"]
    kinds = sorted(kind for _, kind in left)
    rows = list[dict[str, Any]]()
    for name, parent in ABOVE.items():
        quotas: dict[str, Any] = {}
        for kind in kinds:
            nominal = int(left[parent, kind] * dice.choice((0.25, 0.5, 0.5, 0.75, 1)))
            left[parent, kind] -= nominal
            left[name, kind] = nominal
            quotas[kind] = {"nominal": nominal} | _limits(dice, nominal, left[parent, kind])
        rows.append({"name": name, "parent": parent, "weight": dice.choice((0.5, 1.0, 2.0)), "quota": quotas})
    return rows


def _limits(dice: Random, nominal: int, beside: int) -> dict[str, int]:
    """How far above nominal, and how much of it others may use; mostly without limits."""
    found: dict[str, int] = {}
    if dice.random() < 0.4:
        found["borrow"] = dice.choice((0, nominal, beside, 2 * nominal + beside))
    if dice.random() < 0.4:
        found["lend"] = int(nominal * dice.choice((0, 0.5, 1)))
    return found


def _quota(dice: Random, machines: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in ("A100", "H100"):
        whole = sum(node["gpus"] for node in machines if node["gpu_type"] == kind)
        if dice.random() < 0.25 or not whole:
            continue
        quota = {"nominal": int(whole * dice.choice((0, 0.25, 0.25, 0.5, 0.5, 1)))}
        if dice.random() < 0.6:
            quota["borrow"] = int(whole * dice.choice((0, 0.25, 0.5, 1)))
        if dice.random() < 0.5:
            quota["lend"] = int(quota["nominal"] * dice.choice((0, 0.5, 1)))
        found[kind] = quota
    return found


def _job(dice: Random, number: int, submit: float, machines: list[dict[str, Any]]) -> Row:
    row = {"job": f"j{number}", "submit_s": f"{submit:g}", "duration_s": f"{_duration(dice):g}"}
    row |= {"tier": dice.choice(TIERS), "team": dice.choice(TEAMS), "user": dice.choice(("ada", "bo", ""))}
    # Now and then somebody asks for what this cluster does not have.
    around = [_node(dice, 0, plain=False)] if dice.random() < 0.03 else machines
    row |= _shape(dice, around) | _work(dice, row) | _wishes(dice, around)
    if number and dice.random() < 0.12:
        row["after"] = "|".join(sorted({f"j{dice.randrange(number)}" for _ in range(dice.choice((1, 1, 2)))}))
    if dice.random() < 0.1:
        row["not_before_s"] = f"{submit + dice.choice((0, 50, 900)):g}"
    if dice.random() < 0.15:
        row["deadline_s"] = f"{submit + dice.choice((100, 5000)):g}"
    return {key: value for key, value in row.items() if value}


def _duration(dice: Random) -> float:
    if dice.random() < 0.05:
        return 0.0
    return round(dice.choice((30, 300, 1500)) * (0.2 + 1.8 * dice.random()), dice.choice((0, 0, 4)))


def _shape(dice: Random, machines: list[dict[str, Any]]) -> Row:
    """One GPU to all of them, in groups, as an exact shape or with a choice."""
    size = dice.choice(machines)["gpus"]
    tp = dice.choice([group for group in (1, 1, 1, 1, 2, 4) if group <= size])
    blank = {"tp": str(tp) if tp > 1 else ""}
    if dice.random() < 0.3:
        alike = sum(node["gpus"] >= size for node in machines)
        each = dice.choice((tp, tp, size // tp * tp))
        return blank | {
            "nodes": str(dice.choice((1, 1, min(2, alike), min(3, alike)))),
            "gpus_per_node": str(each),
        }
    most = max(1, sum(node["gpus"] // tp for node in machines))
    groups = min(most, dice.choice((1, 1, 1, 2, 2, 3, 4, 8, max(1, most // 2), most)))
    if dice.random() < 0.15:
        blank["min_gpus"] = str(max(1, groups // 2) * tp)
    return blank | {"gpus": str(groups * tp)}


def _work(dice: Random, row: Row) -> Row:
    """How it runs: limits around its duration, checkpoints, restarts, whether it may be stopped."""
    duration, found = float(row["duration_s"]), Row()
    if dice.random() < 0.5:
        found["limit_s"] = f"{max(1.0, duration * dice.choice((0.5, 1, 1, 1.5, 4))):.6g}"
    if dice.random() < 0.6:
        found["checkpoint_s"] = f"{dice.choice((7, 60, 300)):g}"
    if dice.random() < 0.6:
        found["restart_s"] = f"{dice.choice((0, 5, 120)):g}"
    if dice.random() < 0.2:
        found["preemptible"] = dice.choice(("0", "1"))
    return found


def _wishes(dice: Random, machines: list[dict[str, Any]]) -> Row:
    """Constraints on the place that some node of the cluster meets; most jobs have none or one."""
    like = dice.choice(machines)
    kind = like["gpu_type"]
    level = dice.choice(("node", "rack", "block")) + dice.choice((":required", ":preferred", ":preferred"))
    wishes = (
        ("gpu_type", dice.choice((kind, f"H100|{kind}", f"{kind}|A100", "A100|H100")), 0.25),
        ("pool", like.get("pool", "default"), 0.1),
        ("topology", level, 0.3),
        ("gpu_memory_gib", f"{like.get('gpu_memory_gib', 40)}", 0.1),
        ("features", "|".join(like.get("features", ())), 0.2),
        ("cpus_per_gpu", dice.choice(("2", "4", "8")), 0.12),
        ("memory_gib_per_gpu", dice.choice(("16", "32", "64")), 0.12),
        ("spot_share", dice.choice(("0", "0.5", "1")), 0.15),
    )
    return {column: value for column, value, chance in wishes if dice.random() < chance}


def _faults(dice: Random, machines: list[dict[str, Any]], horizon: float) -> list[Row]:
    """Each broken node goes down or drains, and mostly comes back; some faults take only a few GPUs."""
    rows: list[tuple[float, Row]] = []
    for node in dice.sample(machines, dice.randint(1, max(1, len(machines) // 2))):
        start = round(dice.random() * horizon, dice.choice((0, 2)))
        some = dice.sample(range(node["gpus"]), dice.randint(1, node["gpus"])) if dice.random() < 0.3 else []
        part = "|".join(map(str, sorted(some)))
        rows.append((start, _fault(start, node["name"], dice.choice(("down", "down", "drain")), part)))
        if dice.random() < 0.8:
            back = round(start + dice.choice((30, 400, 4000)) * dice.random(), 2)
            rows.append((back, _fault(back, node["name"], "up", part)))
    rows.sort(key=lambda row: row[0])
    return [row for _, row in rows]


def _fault(t: float, node: str, event: str, gpus: str) -> Row:
    return {"t_s": f"{t:.10g}", "node": node, "event": event, "gpus": gpus}
