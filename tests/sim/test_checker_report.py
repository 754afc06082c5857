"""The checker recomputes a report's figures, and speaks as a command."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sim.checker.figures import band
from tests.sim.tiny import Tape, fault, finish, impossible, job, machine, node, start, stop, swap, told

ALL = [0, 1, 2, 3]


def spread(**values: float) -> dict[str, float]:
    return dict(values)


WAITS = spread(mean=47.5, p50=47.5, p90=95, p99=95, max=95)
REPORT: dict[str, Any] = {
    "jobs": 3,
    "finished": 2,
    "impossible": 1,
    "span_s": 200,
    "gpu_seconds_busy": 1200.0,
    "utilisation": 0.75,
    "wait_s": WAITS
    | {
        "by_tier": {"standard": WAITS},
        "by_team": {
            "red": spread(mean=0, p50=0, p90=0, p99=0, max=0),
            "blue": spread(mean=95, p50=95, p90=95, p99=95, max=95),
        },
    },
    "jct_s": spread(mean=147.5, p50=147.5, p99=195),
    **dict.fromkeys(("preemptions", "reclaims", "moves", "swaps"), 0),
    "lost_gpu_s": {"preempted": 0.0, "node_lost": 0.0},
    "fragmentation": 0.1,
    "eta": {
        "jobs": 1,
        "started_before_p50": 0,
        "by_p50": 0.0,
        "by_p90": 0.0,
        "pinball_s": (0.5 * 85 + 0.9 * 75) / 2,
        "median_abs_error_s": 85.0,
    },
    "cycles": 4,
    "cycle_ms": spread(p50=1, p95=2, max=3),
    "wall_s": 0.1,
    "peak_rss_mib": 50.0,
}
TAPE = told(
    [job("a", team="red"), job("b", 8, submit_s=5, team="blue"), job("z", 9)],
    impossible(0.0, "z"),
    start(0.0, "a", n1=ALL),
    finish(100.0, "a"),
    start(100.0, "b", n1=ALL, n2=ALL),
    finish(200.0, "b"),
    report=REPORT,
)


def test_a_report_that_says_what_the_events_say_passes() -> None:
    assert TAPE.wrong() == []


def changed(path: str, value: Any) -> Tape:
    report = json.loads(json.dumps(REPORT))
    *above, key = path.split(".")
    inside = report
    for step in above:
        inside = inside[step]
    inside[key] = value
    return TAPE.but(report=report)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("jobs", 2),
        ("finished", 3),
        ("impossible", 0),
        ("span_s", 195),
        ("gpu_seconds_busy", 1201.0),
        ("utilisation", 0.7),
        ("preemptions", 1),
        ("reclaims", 1),
        ("moves", 1),
        ("swaps", 1),
        ("recalls", 1),
        ("limit_stops", 1),
        ("unfinished", 1),
        ("fragmentation", 1.2),
        ("wait_s.mean", 48.0),
        ("wait_s.p90", 96.0),
        ("wait_s.max", 96.0),
        ("wait_s.by_tier.standard.p50", 96.0),
        ("wait_s.by_team.red.max", 1.0),
        ("wait_s.by_team", None),
        ("jct_s.mean", 100.0),
        ("jct_s.p99", 200.0),
        ("lost_gpu_s.preempted", 5.0),
        ("lost_gpu_s", {"preempted": 5.0, "node_lost": -5.0}),
        ("eta.jobs", 2),
        ("eta.by_p90", 1.0),
        ("eta.pinball_s", 85.0),
        ("eta.pinball_s", {"p50": 42.5, "p90": 42.5}),
        ("eta.pinball_s", {"p50": 67.5, "p90": 67.5}),
        ("eta.median_abs_error_s", 80.0),
    ],
)
def test_a_figure_that_is_wrong_is_caught(path: str, value: Any) -> None:
    assert any(path.split(".")[0].split("_s")[0] in wrong for wrong in changed(path, value).wrong("report"))


def test_pinball_losses_may_be_told_one_by_one() -> None:
    assert changed("eta.pinball_s", {"p50": 42.5, "p90": 67.5}).wrong("report") == []


def test_a_figure_that_is_missing_is_caught() -> None:
    report = {key: value for key, value in REPORT.items() if key not in {"eta", "wall_s"}}
    assert TAPE.but(report=report).wrong("report") == ["the report has no eta, wall_s"]


def test_losses_are_told_by_cause() -> None:
    faults = [fault(50.0, "n1", "down"), fault(60.0, "n2", "down")]
    events = [start(0.0, "a", n1=ALL), machine(50.0, "n1", "down"), swap(50.0, "a", "n1", 200.0, n2=ALL)]
    events += [machine(60.0, "n2", "down"), stop(60.0, "a", "node_lost", lost=0.0)]
    events += [start(60.0, "a", 2, n3=ALL), finish(220.0, "a", 2)]
    nodes = [node("n1"), node("n2"), node("n3")]
    tape = told([job("a")], *events, nodes=nodes, faults=faults)
    assert tape.wrong() == []
    told_wrong = tape.but(report=REPORT).wrong("report")
    assert any(
        "lost_gpu_s over all causes is 0.0; by the events it is 200.0" in wrong for wrong in told_wrong
    )


@pytest.mark.parametrize(("share", "low", "high"), [(0.5, 2.0, 3.0), (0.9, 3.0, 4.0), (0.99, 3.0, 4.0)])
def test_a_percentile_may_lie_between_its_neighbours(share: float, low: float, high: float) -> None:
    assert band([4.0, 1.0, 3.0, 2.0], share) == (low, high)


def write(folder: Path, tape: Tape) -> list[str]:
    (folder / "cluster.json").write_text(json.dumps({"nodes": tape.nodes}))
    with (folder / "jobs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted({column for row in tape.jobs for column in row}))
        writer.writeheader()
        writer.writerows(tape.jobs)
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in tape.events))
    (folder / "report.json").write_text(json.dumps(tape.report))
    names = ("cluster.json", "jobs.csv", "events.jsonl")
    return [*(str(folder / name) for name in names), "--report", str(folder / "report.json")]


def test_the_command_prints_the_violations_and_fails(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.sim.checker"]
    fine = subprocess.run([*command, *write(tmp_path, TAPE)], capture_output=True, text=True, timeout=60)
    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "", "")
    bad = subprocess.run(
        [*command, *write(tmp_path, changed("jobs", 7))], capture_output=True, text=True, timeout=60
    )
    assert (bad.returncode, bad.stdout) == (1, "the report's jobs is 7; by the events it is 3\n")
