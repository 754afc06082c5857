"""Runs the small `up` as a program and looks at it from outside: its words, its processes, its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from portal.up.descendants import Process, descendants, everyone, process
from portal.up.sockets import free_port

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests" / "up" / "small.py"


def eventually(question: Callable[[], object], limit_s: float = 15) -> None:
    """Wait for a condition, not for luck."""
    deadline = time.monotonic() + limit_s
    while not question():
        assert time.monotonic() < deadline, f"this did not come true within {limit_s} s"
        time.sleep(0.02)


def clean_environment(**extra: str) -> dict[str, str]:
    """As a stranger has it: nothing of the tests' own servers."""
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), **extra}


@dataclass
class SmallUp:
    """One `up` with tiny children; every process of it can be found by a number that only it knows."""

    place: Path
    env: dict[str, str] = field(default_factory=dict)
    agents: int = 2
    port: int = field(default_factory=free_port)
    running: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def said(self) -> str:
        return (self.place / "said").read_text()

    @property
    def journal(self) -> list[list[str]]:
        return [line.split() for line in (self.place / "journal").read_text().splitlines()]

    @property
    def pid(self) -> int:
        assert self.running is not None
        return self.running.pid

    def command(self) -> list[str]:
        options = ["--state", self.state, "--port", self.port, "--agents", self.agents]
        return [sys.executable, str(SMALL), *map(str, options)]

    def start(self, *, prefix: tuple[str, ...] = ()) -> "SmallUp":
        extra = {"JOURNAL": str(self.place / "journal"), "RANK_SLEEPS": self.secret(), **self.env}
        with (self.place / "said").open("wb") as out:
            self.running = subprocess.Popen(
                [*prefix, *self.command()],
                env=clean_environment(**extra),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def ready(self) -> "SmallUp":
        eventually(lambda: "Berth is ready" in self.said or self.has_ended())
        assert "Berth is ready" in self.said, self.said
        eventually(lambda: len(self.ranks()) == self.agents)
        return self

    def secret(self) -> str:
        """How long the ranks sleep: a number by which they are found again."""
        return f"7{self.port}"

    def has_ended(self) -> bool:
        assert self.running is not None
        return self.running.poll() is not None

    def end(self, signum: int = signal.SIGINT, limit_s: float = 15) -> int:
        """Send the signal and wait; the exit status."""
        assert self.running is not None
        self.running.send_signal(signum)
        return self.running.wait(limit_s)

    def keeper(self) -> int:
        return next(one.pid for one in everyone() if one.parent == self.pid)

    def family(self) -> list[Process]:
        return descendants(self.pid)

    def ranks(self) -> list[Process]:
        return [one for one in everyone() if one.name == "sleep" and self.secret() in command_of(one.pid)]

    def left(self) -> list[str]:
        """Everything on the machine that this `up` started and that still runs."""
        marks = (str(self.state), self.secret(), f"JOURNAL={self.place / 'journal'}")
        return [command for mark in marks for command in commands_with(mark)]

    def child(self, name: str) -> Process:
        """The running child of that name."""
        return next(one for one in self.family() if f" {name}" in command_of(one.pid)[-12:])


def command_of(pid: int) -> str:
    return _read(pid, "cmdline")


def commands_with(trace: str) -> list[str]:
    """What runs on this machine and has this in its command, its environment or its working directory."""
    return [command_of(one.pid) for one in everyone() if not one.over and trace in _traces(one.pid)]


def _traces(pid: int) -> str:
    try:
        where = str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        where = ""
    return " ".join([_read(pid, "cmdline"), _read(pid, "environ"), where])


def _read(pid: int, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    one = process(pid)
    return one is not None and not one.over
