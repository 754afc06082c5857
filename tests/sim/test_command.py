"""`./manage.py replay`: files in, files out, one sentence where something is wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portal.replay import command
from portal.replay.outputs import NoPlace, written
from portal.replay.progress import Bar

ROOT = Path(__file__).resolve().parent.parent.parent
CLUSTER = {"nodes": [{"name": f"n{number}", "gpu_type": "A100", "gpus": 8} for number in (1, 2)]}
JOBS = "job,submit_s,duration_s,gpus,limit_s\na,0,100,16,200\nb,5,50,8,60\nc,6,10,99,\n"

Run = Callable[..., int]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "fifo.json").write_text('{"name": "fifo"}')
    (tmp_path / "faults.csv").write_text("t_s,node,event\n20,n1,down\n30,n1,up\n")
    return tmp_path


@pytest.fixture
def run(files: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(files)

    def ran(*more: str, jobs: str = "jobs.csv", policy: str = "fifo.json") -> int:
        basis = ["--cluster", "cluster.json", "--jobs", jobs]
        return command.main(["replay", *basis, *(["--policy", policy] if policy else []), *more])

    return ran


def test_it_writes_events_and_a_report_and_prints_a_table(
    files: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--events", "events.jsonl", "--report", "report.json", "--faults", "faults.csv") == 0
    told = [json.loads(line) for line in (files / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in told].count("submit") == 3
    assert sorted({event["event"] for event in told}) == [
        "estimate",
        "finish",
        "impossible",
        "node",
        "start",
        "stop",
        "submit",
    ]
    found = json.loads((files / "report.json").read_text())
    assert (found["policy"], found["jobs"], found["finished"], found["impossible"]) == ("fifo", 3, 2, 1)
    assert found["peak_rss_mib"] > 1
    assert found["wall_s"] >= 0
    out, err = capsys.readouterr()
    assert "2 finished, 1 impossible" in out
    assert err == "", "no bar where nobody watches"
    assert not [path for path in files.iterdir() if path.name.startswith(".")], "nothing half made is left"


def test_it_writes_nothing_that_nobody_asked_for(files: Path, run: Run) -> None:
    before = sorted(files.iterdir())
    assert run() == 0
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "jobs.csv",
            "job,submit_s,duration_s,gpus\na,0,100,8\nb,x,1,8\n",
            "jobs.csv, line 3, column submit_s: ",
        ),
        ("cluster.json", '{"nodes": [\n {"name": 5}]}', "cluster.json, line 2, column "),
        ("faults.csv", "t_s,node,event\n1,n9,down\n", "faults.csv, line 2, column node: "),
        ("fifo.json", '{"name": "lifo"}', "fifo.json, line 1, column "),
        ("fifo.json", "\xff", "fifo.json, line 1, column 1: "),
    ],
)
def test_bad_input_ends_with_one_sentence_and_nothing_written(
    files: Path, run: Run, capsys: pytest.CaptureFixture[str], *, name: str, text: str, said: str
) -> None:
    (files / name).write_bytes(text.encode("latin-1"))
    (files / "report.json").write_text("as it was")
    assert run("--faults", "faults.csv", "--events", "events.jsonl", "--report", "report.json") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"replay: {said}")
    assert (files / "report.json").read_text() == "as it was"
    assert not (files / "events.jsonl").exists()
    assert not [path for path in files.iterdir() if path.name.startswith(".")]


def test_a_file_that_is_not_there_is_bad_input(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(jobs="nowhere.csv") == 2
    assert capsys.readouterr().err.startswith("replay: nowhere.csv, line 1, column 1: cannot be read")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "jobs.csv"], "jobs.csv: is named twice"),
        (["--events", "x", "--report", "./x"], "x: is named twice"),
        (["--report", "."], "is a directory"),
        (["--report", "no/such/place.json"], "cannot be written"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_told_before_the_replay(
    files: Path, run: Run, capsys: pytest.CaptureFixture[str], *, options: list[str], said: str
) -> None:
    assert run(*options) == 2
    assert said in capsys.readouterr().err
    assert (files / "jobs.csv").read_text() == JOBS


@pytest.mark.parametrize(
    "options",
    [
        ["--nonsense"],
        ["--policy", "a", "--compare", "fifo,easy"],
        ["--compare", "fifo"],
        ["--page", "x.html"],
    ],
)
def test_options_that_make_no_sense_are_told_in_one_sentence(
    run: Run, capsys: pytest.CaptureFixture[str], *, options: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*options, policy="")
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("replay: ")


def test_jobs_that_end_as_unfinished_are_reported_and_no_failure(files: Path, run: Run) -> None:
    (files / "faults.csv").write_text("t_s,node,event\n20,n1,down\n")
    assert run("--faults", "faults.csv", "--report", "report.json") == 0
    assert json.loads((files / "report.json").read_text())["unfinished"] == 2


def test_a_device_is_written_to_and_not_replaced(run: Run) -> None:
    assert run("--events", "/dev/null") == 0
    assert not Path("/dev/null").is_file()


def test_an_interrupted_replay_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    old = tmp_path / "report.json"
    old.write_text("old")

    def broken_off() -> None:
        with written([old, None]) as (file, none):
            assert file is not None
            assert none is None
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert (old.read_text(), list(tmp_path.iterdir())) == ("old", [old])


def test_of_two_files_neither_is_begun_if_one_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(NoPlace), written([tmp_path / "events", tmp_path / "no" / "report"]):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_same_files_give_the_same_bytes_whatever_the_hash_seed(files: Path) -> None:
    events = [_alone(files, seed) for seed in ("1", "2")]
    assert events[0] == events[1]


def _alone(files: Path, seed: str) -> tuple[bytes, dict[str, Any]]:
    """In a process of its own, without a database, Redis or settings."""
    names = [
        "--cluster",
        "cluster.json",
        "--jobs",
        "jobs.csv",
        "--faults",
        "faults.csv",
        "--policy",
        "fifo.json",
    ]
    line = [sys.executable, str(ROOT / "manage.py"), "replay", *names, "--events", "e", "--report", "r"]
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("DJANGO", "DATABASE", "REDIS"))
    }
    subprocess.run(
        line, cwd=files, env=kept | {"PYTHONHASHSEED": seed}, check=True, capture_output=True, timeout=50
    )
    figures = json.loads((files / "r").read_text())
    steady = {
        key: value for key, value in figures.items() if key not in ("cycle_ms", "wall_s", "peak_rss_mib")
    }
    return (files / "e").read_bytes(), steady


def test_the_command_asks_for_neither_django_nor_plotly(files: Path) -> None:
    code = (
        "import sys; from portal.replay import command;"
        "command.main(['replay', '--cluster', 'cluster.json', '--jobs', 'jobs.csv', '--policy', 'fifo.json']);"
        "print([name for name in ('django', 'plotly', 'redis', 'psycopg', 'celery') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=files,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_bar_on_a_terminal_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar = Bar("fifo")
    bar.show(1, 4)
    bar.show(2, 4)  # too soon to be shown
    bar.show(4, 4)
    bar.clear()
    shown = capsys.readouterr().err.split("\r\x1b[K")
    assert [text.strip()[-11:].replace("\u00a0", " ") for text in shown[1:3]] == [
        "1 of 4 jobs",
        "4 of 4 jobs",
    ]
    assert shown[-1] == ""


def test_a_bar_never_wraps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    Bar("a rather long name of a policy").show(3, 4)
    assert len(capsys.readouterr().err.removeprefix("\r\x1b[K")) == 39
