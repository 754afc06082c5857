"""Where `./manage.py replay` writes: odd places, full disks, readers that leave, and an end half way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portal.replay import command

ROOT = Path(__file__).resolve().parent.parent.parent
CLUSTER = '{"nodes": [{"name": "n1", "gpu_type": "A100", "gpus": 8}]}'
PLAIN = ("--cluster", "c.json", "--jobs", "j.csv")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "c.json").write_text(CLUSTER)
    (tmp_path / "j.csv").write_text("job,submit_s,duration_s,gpus\na,0,100,8\nb,0,100,4\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def alone(*words: str, say: str = "") -> "subprocess.CompletedProcess[str]":
    """In a process of its own, by way of a shell where `say` adds what a shell can do."""
    line = f'"$0" "$1" replay "${{@:2}}" {say}'
    return subprocess.run(
        ["bash", "-c", line, sys.executable, str(ROOT / "manage.py"), *words],
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_events_can_go_to_standard_output_and_then_nothing_else_does(here: Path) -> None:
    for say in ("| cat", "> caught; cat caught"):
        done = alone(*PLAIN, "--events", "/dev/stdout", say=say)
        words = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        assert words.count("finish") == 2
        assert "2 finished" in done.stderr


def test_a_file_behind_a_link_is_replaced_and_the_link_stays(here: Path) -> None:
    Path("link").symlink_to("real")
    assert command.main(["replay", *PLAIN, "--report", "link"]) == 0
    assert Path("link").is_symlink()
    assert json.loads(Path("real").read_text())["finished"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--events", "/dev/full"), "/dev/full: cannot be written (No space left on device)"),
        (("--report", "loop"), "loop: cannot be written (Too many levels of symbolic links)"),
        (("--report", "x" * 300), "cannot be written (File name too long)"),
        (("--report", "j.csv/below"), "j.csv/below: cannot be written (Not a directory)"),
        (("--report", ""), ".: is a directory"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], *, words: tuple[str, ...], said: str
) -> None:
    Path("loop").symlink_to("loop")
    before = sorted(os.listdir())
    assert command.main(["replay", *PLAIN, *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert sorted(os.listdir()) == before


def test_a_circle_of_links_as_input_is_bad_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("loop").symlink_to("loop")
    assert command.main(["replay", "--cluster", "loop", "--jobs", "j.csv"]) == 2
    assert capsys.readouterr().err.startswith("replay: loop, line 1, column 1: cannot be read")


def test_inputs_may_come_through_pipes(here: Path) -> None:
    done = alone("--cluster", "c.json", "--events", "e", say="--jobs <(cat j.csv)")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("e").read_text().count("finish") == 2


def test_a_reader_that_leaves_early_is_no_failure(here: Path) -> None:
    done = alone(*PLAIN, "--report", "r", say="| true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("r").exists()


def test_a_table_that_cannot_be_shown_is_said_and_the_files_are_there(here: Path) -> None:
    done = alone(*PLAIN, "--report", "r", say="> /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("replay: the table cannot be shown")
    assert json.loads(Path("r").read_text())["finished"] == 2


def test_a_terminal_that_knows_few_letters_gets_the_table_too(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = alone(*PLAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 finished" in done.stdout


@contextmanager
def half_way(here: Path, *before: str) -> "Iterator[subprocess.Popen[bytes]]":
    """A replay that is stuck in the middle: nobody reads the pipe that its events go to."""
    rows = "".join(f"j{at},{at},10,8\n" for at in range(1000))
    Path("j.csv").write_text(f"job,submit_s,duration_s,gpus\n{rows}")
    Path("r").write_text("as it was")
    os.mkfifo("pipe")
    line = [sys.executable, str(ROOT / "manage.py"), "replay", *PLAIN, "--events", "pipe", "--report", "r"]
    stuck = subprocess.Popen([*before, *line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    pipe = os.open("pipe", os.O_RDONLY)  # waits until the replay has opened its end
    try:
        _until(lambda: any(name.endswith(".part") for name in os.listdir()))
        yield stuck
    finally:
        os.close(pipe)
        try:
            stuck.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            stuck.kill()
            stuck.communicate()


def _until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("sign", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_an_end_half_way_leaves_the_old_file_and_nothing_half_made(
    here: Path, sign: signal.Signals, status: int
) -> None:
    with half_way(here) as stuck:
        stuck.send_signal(sign)
    assert stuck.returncode == status
    assert sorted(os.listdir()) == ["c.json", "j.csv", "pipe", "r"]
    assert Path("r").read_text() == "as it was"


def test_a_replay_that_a_hangup_does_not_reach_goes_on(here: Path) -> None:
    with half_way(here, "nohup") as stuck:
        stuck.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert stuck.poll() is None
        stuck.terminate()
    assert stuck.returncode == 143


def test_even_a_killed_replay_leaves_no_file_that_looks_whole(here: Path) -> None:
    with half_way(here) as stuck:
        stuck.kill()
    assert Path("r").read_text() == "as it was"
