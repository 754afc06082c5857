"""The same files give the same events, byte by byte, whatever the process, its hash seed, place and language."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.worlds import build

ROOT = Path(__file__).resolve().parent.parent.parent
JOBS = Path(__file__).parent / "extracts" / "lingjun_jobs.csv"
SEEDS = range(8)  # chosen by nobody: together they hold every kind of event, as a test below makes sure
MEASURED = ("cycle_ms", "wall_s", "peak_rss_mib")
DRIVER = """
import json, sys
from pathlib import Path
from portal.replay import command
for line in Path("lines.json").read_text().splitlines():
    assert command.main(["replay", *json.loads(line), *(f"--{what}={sys.argv[1]}-{what}" for what in ("events", "report"))]) == 0
    for what in ("events", "report"):
        found = Path(f"{sys.argv[1]}-{what}").read_text()
        with open(f"{sys.argv[1]}-all-{what}", "a") as file:
            file.write(found)
            file.write("\\n" if what == "report" else "")
"""
STRANGE = {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Auckland", "LC_ALL": "C", "OMP_NUM_THREADS": "3"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small worlds under every policy, and a piece of a real trace, each replayed in two processes."""
    place = tmp_path_factory.mktemp("same")
    lines = [["--trace", "lingjun", "--jobs", str(JOBS), "--nodes", "96", "--checkpoint-s", "600"]]
    for seed in SEEDS:
        for name, text in build(4 + seed % 5, 30, seed).texts().items():
            (place / f"{seed}-{name}").write_text(text)
        files = {
            what: f"{seed}-{name}"
            for what, name in (("cluster", "CLUSTER.json"), ("jobs", "JOBS.csv"), ("faults", "FAULTS.csv"))
        }
        words = [f"--{what}={name}" for what, name in files.items()]
        lines += [[*words, f"--policy={policy}"] for policy in (f"{seed}-POLICY.json", "easy", "fifo")]
    (place / "lines.json").write_text("\n".join(map(json.dumps, lines)))
    for name, more in (("plain", {"PYTHONHASHSEED": "0"}), ("strange", STRANGE)):
        surroundings = os.environ | {"PYTHONPATH": str(ROOT)} | more
        subprocess.run(
            [sys.executable, "-c", DRIVER, name],
            cwd=place,
            env=surroundings,
            check=True,
            capture_output=True,
            timeout=200,
        )
    return place


@pytest.mark.limit(120)
def test_two_processes_tell_the_same_events_byte_by_byte(folder: Path) -> None:
    plain, strange = ((folder / f"{name}-all-events").read_bytes() for name in ("plain", "strange"))
    assert plain == strange


@pytest.mark.limit(120)
def test_they_report_the_same_but_for_what_a_real_clock_measures(folder: Path) -> None:
    plain, strange = (_reports(folder / f"{name}-all-report") for name in ("plain", "strange"))
    assert len(plain) == 1 + 3 * len(SEEDS)
    assert plain == strange


@pytest.mark.limit(120)
def test_the_worlds_hold_every_kind_of_event(folder: Path) -> None:
    told = [json.loads(line) for line in (folder / "plain-all-events").read_text().splitlines()]
    assert {event["event"] for event in told} == {
        *("submit", "estimate", "start", "ask", "stop", "swap", "finish", "impossible", "node"),
    }
    assert {event["why"] for event in told if event["event"] == "stop"} >= {"preempted", "limit", "node_lost"}


def _reports(path: Path) -> list[dict[str, object]]:
    reader, text, found = json.JSONDecoder(), path.read_text(), []
    at = 0
    while at < len(text.rstrip()):
        report, at = reader.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        found.append({key: value for key, value in report.items() if key not in MEASURED})
    return found
