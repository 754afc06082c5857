"""Ranks outlive their agent, and their exit codes too; what a killed shim leaves behind does not."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler.agent import proc, rundir
from scheduler.agent.leftovers import leftovers
from scheduler.agent.run import Run
from tests.agent.agents import AgentProcess, eventually, is_in, order, run_in, spec
from tests.agent.portal_double import PortalDouble

StartAgent = Callable[..., AgentProcess]


def settle(portal: PortalDouble) -> None:
    """Some beats, each answered with orders: time enough for an agent to do what it should not."""
    count = len(portal.beats) + 5
    eventually(lambda: len(portal.beats) >= count)


def test_a_new_agent_adopts_what_runs_and_what_ended_meanwhile(
    portal: PortalDouble, agent: AgentProcess, start_agent: StartAgent
) -> None:
    file = agent.state.parent / "end-now"
    short = spec(agent, 1, f"echo before; until [ -e {file} ]; do sleep 0.02; done; echo after; exit 5")
    long = spec(agent, 2, "echo alive; sleep 600", first=4)
    portal.want(order(portal, short), order(portal, long))
    portal.heard(lambda beat: is_in(1, "running")(beat) and is_in(2, "running")(beat))
    rank = agent.seen(2)["ranks"][0]

    agent.kill()
    file.touch()
    eventually(lambda: agent.seen(1)["phase"] == "ended")
    first_boot = portal.beats[-1].boot
    start_agent()

    beat = portal.heard(lambda beat: beat.boot > first_boot)
    ended, running = run_in(beat, 1), run_in(beat, 2)
    assert ended is not None
    assert running is not None
    assert [(r.state, r.exit) for r in ended.ranks] == [("ended", 5)]
    assert [r.state for r in running.ranks] == ["running"]
    assert proc.is_alive(rank["pid"], rank["ticks"])
    eventually(lambda: portal.log(1, 0) == b"before\nafter\n")

    portal.want()
    portal.heard(lambda beat: not beat.runs)
    assert not proc.is_alive(rank["pid"], rank["ticks"])


def test_a_restarted_agent_never_starts_a_forgotten_run_again(
    portal: PortalDouble, agent: AgentProcess, start_agent: StartAgent
) -> None:
    count = agent.state.parent / "count"
    count.touch()
    count.chmod(0o666)
    wanted = order(portal, spec(agent, 1, f"echo x >> {count}"))
    portal.want(wanted)
    portal.heard(is_in(1, "ended"))
    portal.want()
    portal.heard(lambda beat: not beat.runs)
    portal.want(wanted)  # a straggler, computed before the portal heard of the end
    beat = portal.heard(is_in(1, "ended"))
    settle(portal)
    agent.kill()
    start_agent()
    portal.heard(lambda later: later.boot > beat.boot and is_in(1, "ended")(later))
    settle(portal)
    assert count.read_text() == "x\n"


def test_ranks_are_ended_when_their_shim_is_killed(portal: PortalDouble, agent: AgentProcess) -> None:
    hidden = "env -i /bin/sh -c 'while :; do sleep 0.1; done' & setsid sleep 600 & sleep 600"
    portal.want(order(portal, spec(agent, 1, hidden, gpus=2)))
    portal.heard(is_in(1, "running"))
    shim = agent.seen(1)["pid"]
    tree = eventually(lambda: (found := proc.family([shim])) and len(found) >= 8 and found)

    os.kill(shim, signal.SIGKILL)

    beat = portal.heard(is_in(1, "ended"))
    seen = run_in(beat, 1)
    assert seen is not None
    assert seen.error == "The process that watched over the ranks was killed; the ranks were ended."
    assert [(r.state, r.exit, r.signal) for r in seen.ranks] == [("ended", None, None)] * 2
    assert [one for one in tree if proc.is_alive(one.pid, one.ticks)] == []


def test_a_shim_killed_while_no_agent_was_there_is_noticed_too(
    portal: PortalDouble, agent: AgentProcess, start_agent: StartAgent
) -> None:
    portal.want(order(portal, spec(agent, 1, "setsid sleep 600 & sleep 600")))
    portal.heard(is_in(1, "running"))
    shim = agent.seen(1)["pid"]
    tree = eventually(lambda: (found := proc.family([shim])) and len(found) >= 3 and found)
    agent.kill()
    os.kill(shim, signal.SIGKILL)
    start_agent()
    portal.heard(is_in(1, "ended"))
    assert [one for one in tree if proc.is_alive(one.pid, one.ticks)] == []


@pytest.fixture
def stranger() -> Iterator[proc.Stat]:
    """A process that has nothing to do with us, in a session of its own."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    seen = eventually(lambda: (stat := proc.stat(process.pid)) and stat.session == process.pid and stat)
    yield seen
    process.kill()
    process.wait(10)


def test_a_reused_pid_is_taken_for_nobody(reachable: Path, stranger: proc.Stat) -> None:
    """With another start time it is neither a live shim to signal nor a rank to be killed."""
    rank = rundir.Rank(
        rank=0, pid=stranger.pid, ticks=1, started_at=1.0, ended_at=None, exit=None, signal=None
    )
    assert stranger.pid not in leftovers("/nowhere", [rank])
    directory = reachable / "1.1"
    directory.mkdir()
    launch = {"command": "", "cwd": "/nowhere", "gpus": [], "ranks": [{"rank": 0, "env": {}}]}
    rundir.write(directory / rundir.LAUNCH, launch)
    rundir.write(
        directory / rundir.SEEN,
        rundir.Seen(phase="running", pid=stranger.pid, ticks=1, error=None, ranks=[rank]),
    )
    run = Run(directory)
    run.stop(0)
    run.look()
    assert run.phase == "ended"
    assert proc.is_alive(stranger.pid, stranger.ticks)


def test_a_launch_cut_short_by_a_crash_ends_with_a_sentence(
    portal: PortalDouble, start_agent: StartAgent, reachable: Path
) -> None:
    """The directory is there, but no shim ever was: an agent died in between, long enough ago."""
    directory = reachable / "n01" / "runs" / "1.1"
    (directory / "work").mkdir(parents=True)
    (reachable / "n01" / "runs" / "2.1.new").mkdir()
    launch = {"command": "", "cwd": str(directory / "work"), "gpus": [], "ranks": []}
    rundir.write(directory / rundir.LAUNCH, launch)
    os.utime(directory, (1.0, 1.0))
    start_agent()
    seen = run_in(portal.heard(is_in(1, "ended")), 1)
    assert seen is not None
    assert seen.error == "The process that watches over the ranks did not start."
    assert not (reachable / "n01" / "runs" / "2.1.new").exists()


def test_files_that_a_power_cut_emptied_stop_nobody(
    portal: PortalDouble, start_agent: StartAgent, reachable: Path
) -> None:
    runs, private = reachable / "n01" / "runs", reachable / "n01" / "private"
    for name in ("1.1", "2.1"):
        (runs / name).mkdir(parents=True)
    private.mkdir()
    for emptied in (runs / "1.1" / rundir.LAUNCH, runs / "2.1" / rundir.SEEN, private / "boot.json"):
        emptied.touch()
    launch = {"command": "", "cwd": str(runs / "2.1" / "work"), "gpus": [], "ranks": []}
    rundir.write(runs / "2.1" / rundir.LAUNCH, launch)
    os.utime(runs / "2.1", (1.0, 1.0))
    start_agent()
    beat = portal.heard(is_in(2, "ended"))
    assert run_in(beat, 1) is None
    assert not (runs / "1.1").exists()
