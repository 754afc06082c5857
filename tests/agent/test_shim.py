"""The shim and the ranks below it, as real processes and without an agent."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduler.agent import launch as launching
from scheduler.agent import proc, rundir
from scheduler.agent.boot import Trouble, can_isolate
from scheduler.agent.launch import launch
from scheduler.agent.specs import Spec
from scheduler.agent.spool import HEAD, SEGMENT, TAIL, piece_at
from tests.agent.agents import eventually

Started = Callable[..., Path]
IS_ROOT = os.geteuid() == 0


def spec(command: str, **changes: Any) -> Spec:
    ranks = [{"rank": 4 + i, "local_rank": i, "gpu_uuid": f"GPU-{i}"} for i in range(changes.pop("ranks", 1))]
    return Spec.from_body(
        {
            "run": 7,
            "job": 70,
            "epoch": 2,
            "team": "vision",
            "user": "ada@example.org",
            "command": command,
            "env": {},
            "world_size": 8,
            "node_rank": 1,
            "ranks": ranks,
            "master_addr": "10.0.0.1",
            "master_port": 29500,
            "uid": 231_007,
            "gid": 231_008,
            "grace_s": 10,
        }
        | changes
    )


@pytest.fixture
def start(reachable: Path) -> Iterator[Started]:
    """Launches a spec; whatever is left of it afterwards is ended."""
    directory = reachable / "7.2"

    def start(command: str, **changes: Any) -> Path:
        bell = reachable / "bell"
        launch(spec(command, **changes), directory, node="n01", doorbell=bell, isolated=IS_ROOT)
        return directory

    yield start
    seen = rundir.seen_of(directory)
    if seen and proc.is_alive(seen["pid"], seen["ticks"]):
        proc.signal_all({*proc.descendants([seen["pid"]]), seen["pid"]}, signal.SIGKILL)
    if seen:
        eventually(lambda: os.waitpid(seen["pid"], os.WNOHANG)[0])


def until(directory: Path, phase: str, limit_s: float = 15.0) -> rundir.Seen:
    def there() -> rundir.Seen | None:
        seen = rundir.seen_of(directory)
        return seen if seen and seen["phase"] == phase else None

    return eventually(there, limit_s)  # type: ignore[no-any-return]  # what `there` answered


def log(directory: Path, rank: int = 4) -> bytes:
    return piece_at(rundir.log_dir(directory, rank), 0, 2**20)[1]


def stop(directory: Path, grace_s: float) -> None:
    rundir.write(directory / rundir.STOP, rundir.Stop(grace_s=grace_s))
    os.kill(until_known(directory)["pid"], signal.SIGTERM)


def until_known(directory: Path) -> rundir.Seen:
    return eventually(lambda: rundir.seen_of(directory))  # type: ignore[no-any-return]


def pid_in_log(directory: Path) -> int:
    return int(eventually(lambda: log(directory).split()[:1])[0])


def test_each_ranks_own_exit_code_or_signal_is_recorded(start: Started) -> None:
    directory = start('[ "$LOCAL_RANK" = 2 ] && kill -SEGV $$; exit $LOCAL_RANK', ranks=3)
    ended = until(directory, "ended")
    assert [(r["rank"], r["exit"], r["signal"]) for r in ended["ranks"]] == [
        (4, 0, None),
        (5, 1, None),
        (6, None, int(signal.SIGSEGV)),
    ]
    assert all(rank["started_at"] <= (rank["ended_at"] or 0) <= time.time() for rank in ended["ranks"])


def test_a_shim_is_running_within_a_fraction_of_a_second(start: Started) -> None:
    before = time.monotonic()
    until(start("sleep 60", ranks=8), "running")
    assert time.monotonic() - before < 1.0  # 25 ms on an idle machine; this one may be busy


def test_the_environment_is_clean_whole_and_cannot_be_forged(
    start: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BERTH_WIRE_KEY", "the agent's secret")
    forged = {"RANK": "99", "BERTH_RUN": "99", "BERTH_TOKEN": "x", "CUDA_VISIBLE_DEVICES": "all"}
    directory = start("env -0", ranks=2, env={"GREETING": "two\nlines", "LANG": "de_DE.UTF-8", **forged})
    until(directory, "ended")
    work = str(directory / "work")
    found = dict(entry.split("=", 1) for entry in log(directory, 5).decode().split("\0") if entry)
    found.pop("PWD", None)  # the shell's own
    assert found == {
        "PATH": os.environ["PATH"],
        "HOME": work,
        "TMPDIR": f"{work}/tmp",
        "LANG": "de_DE.UTF-8",
        "GREETING": "two\nlines",
        "RANK": "5",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "8",
        "LOCAL_WORLD_SIZE": "2",
        "NODE_RANK": "1",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29500",
        "CUDA_VISIBLE_DEVICES": "GPU-0,GPU-1",
        "BERTH_JOB": "70",
        "BERTH_RUN": "7",
        "BERTH_EPOCH": "2",
        "BERTH_RANK": "5",
        "BERTH_NODE": "n01",
        "BERTH_TEAM": "vision",
        "BERTH_USER": "ada@example.org",
        "BERTH_WORK": work,
    }


def test_a_stop_asks_everyone_first_and_lets_them_finish(start: Started) -> None:
    directory = start("trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.05; done", ranks=2)
    eventually(lambda: log(directory, 4) and log(directory, 5))
    stop(directory, 30)
    ended = until(directory, "ended")
    assert [rank["exit"] for rank in ended["ranks"]] == [7, 7]
    assert log(directory).endswith(b"saved\n")


def test_a_stop_before_the_ranks_are_up_is_not_lost(start: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a rank may take its time from fork to exec; here it always does."""
    slow = "import os, time; real = os.setsid; os.setsid = lambda: (time.sleep(0.3), real()); "
    monkeypatch.setattr(launching, "_SHIM", slow + launching._SHIM)
    directory = start("sleep 60", ranks=2)
    rundir.write(directory / rundir.STOP, rundir.Stop(grace_s=30))  # before the shim has come that far
    ended = until(directory, "ended")
    assert {rank["signal"] for rank in ended["ranks"]} == {int(signal.SIGTERM)}


def test_after_the_grace_the_whole_tree_is_killed_also_what_changed_its_session(start: Started) -> None:
    deaf = "trap '' TERM HUP; while :; do sleep 0.05; done"
    deeper = 'setsid sh -c \'trap "" TERM; echo $$; eval "$DEAF"\' & eval "$DEAF"'
    directory = start('setsid sh -c "$DEEPER" & eval "$DEAF"', env={"DEAF": deaf, "DEEPER": deeper})
    grandchild = pid_in_log(directory)
    stat = proc.stat(grandchild)
    assert stat is not None
    assert stat.session == grandchild
    stop(directory, 0.3)
    ended = until(directory, "ended")
    assert ended["ranks"][0]["signal"] == signal.SIGKILL
    assert not proc.is_alive(grandchild, stat.ticks)


def test_a_second_stop_can_only_shorten_the_grace(start: Started) -> None:
    directory = start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
    eventually(lambda: log(directory))
    stop(directory, 60)
    until(directory, "stopping")
    stop(directory, 0.2)
    until(directory, "ended", 5)


def test_what_the_ranks_leave_behind_is_ended_with_them(start: Started) -> None:
    directory = start("setsid sleep 600 & echo $!; sleep 0.3; exit 0")  # the shim is waiting by then
    left = pid_in_log(directory)
    ended = until(directory, "ended")
    assert ended["ranks"][0]["exit"] == 0
    assert proc.stat(left) is None


@pytest.mark.limit(120)
def test_fifty_megabytes_of_output_neither_block_the_rank_nor_fill_the_disk(start: Started) -> None:
    count = 50_000_000
    directory = start(f"echo first; head -c {count} /dev/zero | tr '\\0' x; echo; echo last")
    until(directory, "ended", 60)
    kept = rundir.log_dir(directory, 4)
    assert sum(path.stat().st_size for path in kept.iterdir()) <= (HEAD + TAIL) * SEGMENT
    assert log(directory).startswith(b"first\nxxx")
    end = len("first\n") + count + len("\nlast\n")
    assert piece_at(kept, end - 5, 100) == (end - 5, b"last\n")
    gap_ends, piece = piece_at(kept, 10_000_000, 10)
    assert gap_ends > 40_000_000
    assert piece == b"x" * 10


def test_a_command_that_cannot_start_says_so_in_its_log(start: Started) -> None:
    directory = start("x" * 200_000)
    ended = until(directory, "ended")
    assert ended["ranks"][0]["exit"] == 127
    assert log(directory) == b"The rank could not be started: [Errno 7] Argument list too long: '/bin/sh'\n"


@pytest.fixture
def groups_of_root() -> Iterator[None]:
    """An agent is often a member of groups that its ranks must not be in."""
    before = os.getgroups()
    if IS_ROOT:
        os.setgroups([*before, 4711])
    yield
    if IS_ROOT:
        os.setgroups(before)


@pytest.mark.usefixtures("groups_of_root")
def test_ranks_run_under_their_teams_uid_where_the_agent_is_root(start: Started, reachable: Path) -> None:
    assert can_isolate(reachable) is IS_ROOT
    (reachable / "private").mkdir(mode=0o700)
    (reachable / "private" / "claim").write_text("secret")
    directory = start(
        "id -u; id -g; id -G; pwd; touch mine && ls; cat ../launch.json ../../private/claim; ls .."
    )
    until(directory, "ended")
    lines = log(directory).decode().splitlines()
    uid, gid = ("231007", "231008") if IS_ROOT else (str(os.getuid()), str(os.getgid()))
    assert lines[:2] == [uid, gid]
    assert lines[3:6] == [str(directory / "work"), "mine", "tmp"]
    if IS_ROOT:
        assert lines[2] == gid  # and no other group
        assert [line.rpartition(": ")[2] for line in lines[6:]] == ["Permission denied"] * 3


def test_no_job_becomes_root_because_its_own_user_cannot_reach_its_directory(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "runs").mkdir(parents=True)
    hidden.chmod(0o700)
    if not IS_ROOT:
        assert not can_isolate(hidden / "runs")
        return
    with pytest.raises(Trouble, match="cannot pass through"):
        can_isolate(hidden / "runs")


def test_a_machine_that_shuts_down_ends_the_ranks_and_blames_nobody(start: Started) -> None:
    """Everybody gets SIGTERM and no agent left an order: however the ranks take it, that is not how they did."""
    directory = start("trap 'echo saved; exit 0' TERM; echo on; while :; do sleep 0.05; done", ranks=3)
    eventually(lambda: all(log(directory, rank) == b"on\n" for rank in (4, 5, 6)))
    seen = until(directory, "running")
    proc.signal_all([seen["pid"]], signal.SIGTERM)
    proc.signal_all([rank["pid"] for rank in seen["ranks"]], signal.SIGTERM)
    ended = until(directory, "ended")
    assert [(rank["exit"], rank["signal"]) for rank in ended["ranks"]] == [(None, None)] * 3
    assert ended["error"] == "The node was shut down while the ranks ran."
    assert log(directory).endswith(b"\nsaved\n")


def test_what_a_rank_did_before_the_shutdown_counts(start: Started) -> None:
    directory = start('[ "$LOCAL_RANK" = 0 ] && exit 3; sleep 600', ranks=2)
    eventually(lambda: until(directory, "running")["ranks"][0]["exit"] == 3)
    proc.signal_all([until_known(directory)["pid"]], signal.SIGTERM)
    ended = until(directory, "ended")
    assert [(rank["exit"], rank["signal"]) for rank in ended["ranks"]] == [(3, None), (None, None)]
