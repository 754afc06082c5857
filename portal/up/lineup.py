"""The table of roles: which processes `up` runs, by what command, and how each is known to be ready."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from portal.up.state import State

ROOT = Path(__file__).resolve().parents[2]
# What a node must not know: it reaches the portal with its own token and its own Redis user.
_PORTAL_ONLY = (
    "DATABASE_URL",
    "REDIS_URL",
    "BERTH_SECRET_KEY",
    "BERTH_WIRE_KEY",
    "BERTH_STATE",
    "PGPASSWORD",
)


class Stage(IntEnum):
    """In this order they are stopped: who asks ends before who answers."""

    AGENTS = 1
    BEAT = 2
    WORKERS = 3
    WEB = 4
    VALKEY = 5
    POSTGRES = 6


@dataclass(frozen=True, slots=True)
class Child:
    """One process that runs as long as `up` does."""

    name: str
    stage: Stage
    command: tuple[str, ...]
    # An address that answers 200, or words that appear in its log; nothing: to be alive is enough.
    ready_url: str = ""
    ready_words: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chore:
    """One command that must end well before the rest may start; what it says can be for the person."""

    title: str
    name: str
    command: tuple[str, ...]
    shown: bool = False
    migrates: bool = False  # and so has nothing to do while the tables are as it left them


@dataclass(frozen=True, slots=True)
class Wave:
    """Children that start together; the next wave starts when all of them are ready."""

    title: str
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Lineup:
    """All that `up` has to bring up, in order."""

    chores: tuple[Chore, ...]
    waves: tuple[Wave, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    postgres: bool = True
    valkey: bool = True


def lineup(state: State, *, port: int, agents: int, demo: bool) -> Lineup:
    """The portal, with its demo or without."""
    address = f"http://127.0.0.1:{port}"
    waves = [
        Wave("web, workers and beat", (_web(port), _worker("work", 4), _worker("cycle", 1), _beat(state)))
    ]
    if agents:
        nodes = tuple(_agent(state, number, address, demo=demo) for number in range(1, agents + 1))
        waves.append(Wave(f"{agents} agents" if agents > 1 else "1 agent", nodes))
    return Lineup(
        chores=_chores(demo=demo),
        waves=tuple(waves),
        env={
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "BERTH_STATE": str(state.path),
            "BERTH_URL": os.environ.get("BERTH_URL", address),
            "BERTH_DEMO": "1" if demo else "",
            "PYTHONUNBUFFERED": "1",
        },
        postgres=not os.environ.get("DATABASE_URL"),
        valkey=not os.environ.get("REDIS_URL"),
    )


def _chores(*, demo: bool) -> tuple[Chore, ...]:
    words = (sys.executable, str(ROOT / "manage.py"), "migrate", "-v1")
    migrate = Chore("database tables", "migrate", words, migrates=True)
    people = Chore("demo people and teams", "demo", (sys.executable, "-m", "portal.demo"), shown=True)
    return (migrate, people) if demo else (migrate,)


def _web(port: int) -> Child:
    words = f"-m uvicorn portal.asgi:application --host 127.0.0.1 --port {port} --timeout-graceful-shutdown 2"
    if not os.environ.get("BERTH_URL"):  # no proxy in front: a visitor must not choose the address we see
        words += " --no-proxy-headers"
    return Child(
        "web", Stage.WEB, (sys.executable, *words.split()), ready_url=f"http://127.0.0.1:{port}/healthz"
    )


def _worker(queue: str, threads: int) -> Child:
    words = f"-m celery -A portal worker -Q {queue} -P threads -c {threads} -n {queue}@%h -l INFO"
    words += " --without-gossip --without-mingle --without-heartbeat"
    return Child(queue, Stage.WORKERS, (sys.executable, *words.split()), ready_words=" ready.")


def _beat(state: State) -> Child:
    words = "-m celery -A portal beat -l INFO --pidfile= --schedule"
    return Child("beat", Stage.BEAT, (sys.executable, *words.split(), str(state.run / "beat-schedule")))


def _agent(state: State, number: int, address: str, *, demo: bool) -> Child:
    """Four nodes to a rack, and racks to a block by fours, so that the demo has a topology.

    Without the demo there is no join token: the node waits until an administrator lets it in.
    """
    name = f"n{number:02}"
    words = ["--name", name, "--portal", address, "--state", str(state.path / "agents" / name), "--simulate"]
    words += ["--join-token-file", str(state.token)] if demo else []
    return Child(
        name,
        Stage.AGENTS,
        (sys.executable, "-m", "scheduler.agent", *words),
        ready_words=" is in service" if demo else "",
        env={"BERTH_RACK": f"r{(number - 1) // 4 + 1:02}", "BERTH_BLOCK": f"b{(number - 1) // 16 + 1}"},
        without=_PORTAL_ONLY,
    )
