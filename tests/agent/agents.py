"""Agents as processes, what to order from them, and the end of everything they started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scheduler import wire
from scheduler.agent import proc, rundir
from scheduler.agent.standin import Standin
from tests.agent.portal_double import PortalDouble

ROOT = Path(__file__).resolve().parents[2]


def eventually(what: Callable[[], Any], limit_s: float = 15.0) -> Any:
    """The first true answer; fails after the limit."""
    deadline = time.monotonic() + limit_s
    while True:
        if answer := what():
            return answer
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.01)


class AgentProcess:
    """`python -m scheduler.agent` with a state directory of its own."""

    def __init__(self, portal: PortalDouble, state: Path, *options: str, first: str = "") -> None:
        """`first` is Python to run before, where a test cannot wait for the agent's own patience."""
        self.portal, self.state, self.options = portal, state, options
        self.program = ["-c", f"{first}\nfrom scheduler.agent.__main__ import main\nraise SystemExit(main())"]
        if not first:
            self.program = ["-m", "scheduler.agent"]
        self.log = state.with_name(f"{state.name}.log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **env: str) -> "AgentProcess":
        command = [sys.executable, *self.program, "--name", self.portal.node, "--simulate"]
        command += ["--portal", self.portal.url, "--state", str(self.state), *self.options]
        with self.log.open("ab") as log:
            plain = {"PATH": os.environ["PATH"], **env}
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=plain, cwd=ROOT)
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def uuids(self) -> list[str]:
        claim = (self.state / "private" / "claim").read_text()
        return Standin(self.portal.node, claim).uuids

    def kill(self) -> None:
        """As a crash does it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self, limit_s: float = 10.0) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(limit_s)

    def run_dir(self, run: int, epoch: int = 1) -> Path:
        return self.state / "runs" / f"{run}.{epoch}"

    def seen(self, run: int) -> rundir.Seen:
        return eventually(lambda: rundir.seen_of(self.run_dir(run)))  # type: ignore[no-any-return]

    def end(self) -> None:
        """The agent and every process it is responsible for."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        for seen in filter(None, map(rundir.seen_of, (self.state / "runs").glob("*.*"))):
            if proc.is_alive(seen["pid"], seen["ticks"]):
                family = {*proc.descendants([seen["pid"]]), seen["pid"]}
                proc.signal_all(family, signal.SIGKILL)


def spec(agent: AgentProcess, run: int, command: str, **changes: Any) -> dict[str, Any]:
    """A whole run on one node, one rank per GPU, `gpus` of them from slot `first` on."""
    gpus, first = changes.pop("gpus", 1), changes.pop("first", 0)
    uuids = agent.uuids[first : first + gpus]
    return {
        "run": run,
        "job": 100 + run,
        "epoch": 1,
        "name": "a job",
        "team": "vision",
        "user": "ada@example.org",
        "command": command,
        "env": {},
        "nodes": 1,
        "gpus_per_node": gpus,
        "world_size": gpus,
        "node_rank": 0,
        "ranks": [
            {"rank": i, "local_rank": i, "slot": first + i, "gpu_uuid": uuid} for i, uuid in enumerate(uuids)
        ],
        "master_addr": "127.0.0.1",
        "master_port": 29500,
        "uid": 231_000 + run,
        "gid": 231_000 + run,
        "grace_s": 10,
    } | changes


def order(portal: PortalDouble, text: dict[str, Any], **changes: Any) -> wire.RunWanted:
    """What orders say of it; its spec is put where the agent fetches it."""
    portal.specs[text["run"]] = text
    wanted = {"run": text["run"], "epoch": text["epoch"], "digest": wire.digest(text), "want": "run"}
    return wire.RunWanted(**(wanted | {"grace_s": 10.0} | changes))


def run_in(beat: wire.Beat, run: int) -> wire.RunSeen | None:
    return next((seen for seen in beat.runs if seen.run == run), None)


def is_in(run: int, state: str) -> Callable[[wire.Beat], bool]:
    """A question to a beat: has it this run in this state?"""

    def ask(beat: wire.Beat) -> bool:
        seen = run_in(beat, run)
        return seen is not None and seen.state == state

    return ask


def ended(agents: list[AgentProcess]) -> Iterator[None]:
    yield
    for agent in agents:
        agent.end()
