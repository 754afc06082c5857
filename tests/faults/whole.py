"""A whole `up` of a test's own, seen from outside: its processes by name, its database, its Valkey, its words."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg.rows import dict_row

from portal.up.process import die_with_parent
from portal.up.sockets import free_port
from tests.up.harness import ROOT, commands_with

READY_S, END_S = 90, 20
PORTAL = ("web", "work", "cycle", "beat")


def eventually(question: Callable[[], Any], limit_s: float = 30) -> Any:
    """The first true answer; who gets none hears what the last one was."""
    deadline = time.monotonic() + limit_s
    while not (answer := question()):
        assert time.monotonic() < deadline, f"not within {limit_s} s; the last answer was {answer!r}"
        time.sleep(0.05)
    return answer


@dataclass
class Whole:
    """Started by a clean environment, as a stranger would; ended in order, or by force where a test failed."""

    agents: int
    place: Path = field(init=False)
    port: int = field(default_factory=free_port)
    front: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix=f"berth-test-{os.getpid()}-up-", dir="/tmp"))
        self.place.chmod(0o711)  # ranks of other users walk through
        (self.place / "signs").mkdir(mode=0o755)

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def said(self) -> str:
        return (self.place / "said").read_text()

    def log(self, name: str) -> str:
        return (self.state / "log" / f"{name}.log").read_text(errors="replace")

    # coming and going

    def start(self) -> "Whole":
        words = ["up", "--state", self.state, "--port", self.port, "--agents", self.agents]
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "BERTH_VENV") if name in os.environ}
        with (self.place / "said").open("wb") as out:
            self.front = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *map(str, words)],
                env=kept,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),  # noqa: PLW1509  # one call between fork and exec
            )
        eventually(lambda: "Berth is ready" in self.said or self.front.poll() is not None, READY_S)  # type: ignore[union-attr]  # just set
        assert "Berth is ready" in self.said, self.said
        return self

    def stop(self) -> int:
        """As Ctrl-C does; the exit status."""
        assert self.front is not None
        self.front.send_signal(signal.SIGINT)
        return self.front.wait(END_S)

    def leave(self) -> list[str]:
        """End what runs and take the state away; what still ran after the end."""
        if self.front is not None and self.front.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.front.kill()  # its keeper ends all the rest
                self.front.wait(END_S)
        left = commands_with(str(self.state))
        shutil.rmtree(self.place, ignore_errors=True)
        return left

    # its processes

    def pid(self, name: str) -> int:
        noted = json.loads((self.state / "run" / "up.json").read_text())
        return int(noted["people"][name][0])

    def send(self, signum: int, *names: str) -> None:
        for name in names:
            os.kill(self.pid(name), signum)

    def kill(self, name: str) -> int:
        """As a crash does it; the number of the process that died."""
        dead = self.pid(name)
        os.kill(dead, signal.SIGKILL)
        return dead

    def is_back(self, name: str, dead: int) -> bool:
        return self.pid(name) != dead

    @contextmanager
    def standing_still(self, *names: str) -> Iterator[None]:
        """They neither work nor die, as in a machine that hangs."""
        pids = [self.pid(name) for name in names]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    # its servers

    @property
    def env(self) -> dict[str, str]:
        """By which a process of the portal reaches it."""
        found: dict[str, str] = json.loads((self.state / "run" / "environment.json").read_text())
        return found

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Straight from the database; a query that changes something commits."""
        with psycopg.connect(self.env["DATABASE_URL"], row_factory=dict_row, autocommit=True) as link:
            asked = link.execute(query, values)  # type: ignore[call-overload]  # ours, not a stranger's
            return asked.fetchall() if asked.description else []

    def valkey(self) -> "redis.Redis":
        return redis.Redis.from_url(self.env["REDIS_URL"])

    def queued(self) -> dict[str, int]:
        """How many messages wait in each queue between agents and portal."""
        with self.valkey() as link:
            names = ["beats", *(f"node.n{number:02}" for number in range(1, self.agents + 1))]
            return {name: int(link.llen(name)) for name in names}

    # its nodes

    def node(self, name: str) -> dict[str, Any]:
        return self.rows("SELECT * FROM cluster_node WHERE name = %s", name)[0]

    def lost(self) -> list[str]:
        """Who is lost, or ever was."""
        told = self.rows("SELECT sentence FROM journal_entry WHERE kind = 'node' AND verb = 'lost'")
        return [row["sentence"] for row in told]

    def all_heard_since(self, moment: object) -> bool:
        quiet = "SELECT 1 FROM cluster_node WHERE last_seen_at IS NULL OR last_seen_at < %s"
        return not self.rows(quiet, moment)

    def patience(self, seconds: int) -> None:
        """After how much silence a node is lost."""
        self.rows("UPDATE cluster_cluster SET node_loss_s = %s", seconds)
