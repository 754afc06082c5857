"""Runs steps side by side and prints one line for each, with its output only when it fails."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

SIDE_BY_SIDE = 2  # our smallest machine has two cores
_children: "set[subprocess.Popen[str]]" = set()  # Ctrl-C does not reach their process groups by itself


@dataclass(frozen=True, slots=True)
class Step:
    """One command that must end with status 0."""

    name: str
    command: tuple[str, ...]
    limit_s: float = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended."""

    step: Step
    status: int
    seconds: float
    output: str

    @property
    def ok(self) -> bool:
        return self.status == 0


def run_all(steps: Sequence[Step], *, root: Path, env: Mapping[str, str]) -> bool:
    """Run every step, also after one has failed, so that one run shows all that is wrong."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        running = [pool.submit(run, step, root=root, env=env) for step in steps]
        try:
            outcomes = [show(done.result()) for done in as_completed(running)]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in list(_children):
                _end(child)
            raise
    return all(outcome.ok for outcome in outcomes)


def run(step: Step, *, root: Path, env: Mapping[str, str]) -> Outcome:
    """Run one step in a process group of its own, so that a time-out ends all of it."""
    began = time.monotonic()
    child = subprocess.Popen(
        step.command,
        cwd=root,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    _children.add(child)
    try:
        output, _ = child.communicate(timeout=step.limit_s)
    except subprocess.TimeoutExpired:
        _end(child)
        output, _ = child.communicate()
        output += f"\n{step.name} took longer than {step.limit_s:g} s and was ended.\n"
    _children.discard(child)
    return Outcome(step, child.returncode, time.monotonic() - began, output)


def _end(child: "subprocess.Popen[str]") -> None:
    os.killpg(child.pid, signal.SIGKILL)


def show(outcome: Outcome) -> Outcome:
    """One line: name, verdict, time; then the output of a failure."""
    say(outcome.step.name, "ok" if outcome.ok else "FAILED", outcome.seconds)
    if not outcome.ok:
        print(outcome.output.rstrip(), flush=True)
    return outcome


def say(name: str, verdict: str, seconds: float) -> None:
    """The line that every step ends with."""
    mark = {"ok": "32", "FAILED": "31"}.get(verdict)
    shown = f"\033[{mark}m{verdict}\033[0m" if mark and sys.stdout.isatty() else verdict
    print(f"  {name:<12} {shown:<8} {seconds:6.1f} s", flush=True)
