"""docs/replay.md says what is: every option, column, event and figure is in it, and its first replay runs."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from portal.replay import command, options
from scheduler.core.policy import NAMES
from scheduler.sim.events import WORDS
from scheduler.sim.files.jobs import READ
from scheduler.sim.traces import ROLES

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "replay.md").read_text("utf-8")


def test_every_option_is_described_and_none_that_is_not_there() -> None:
    known = {word for action in options.parser()._actions for word in action.option_strings} - {
        "-h",
        "--help",
    }
    described = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE))
    assert described == known


def test_every_trace_policy_column_and_event_is_described() -> None:
    assert all(f"`{trace}`" in PAGE for trace in ROLES)
    assert all(name in PAGE for name in NAMES)
    assert [column for column in READ if f"`{column}`" not in PAGE] == []
    assert [word for word in WORDS.values() if f'"event": "{word}"' not in PAGE] == []


def test_every_figure_of_a_report_is_explained_or_explains_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        line.removeprefix("    ") for line in PAGE.split("## A first replay")[1].split("##")[0].splitlines()
    ]
    end = next(at for at, line in enumerate(lines) if line.startswith("./manage.py"))
    subprocess.run(["bash", "-e", "-c", "\n".join(lines[:end])], check=True, timeout=20)
    words = lines[end].split()[2:]
    assert command.main(["replay", *words, "--report", "r.json"]) == 0
    reports = json.loads((tmp_path / "r.json").read_text())
    assert list(reports) == ["default", "easy", "fifo"]
    assert all(report["finished"] == 3 for report in reports.values())
    plain = {
        *("policy", "jobs", "finished", "impossible", "span_s"),
        *("preemptions", "reclaims", "recalls", "moves", "swaps", "node_losses"),
    }
    told = PAGE.split("## What the figures mean")[1]
    missing = [key for key in reports["default"] if key not in plain and key.removesuffix("_s") not in told]
    assert missing == []
