"""The files of one run on its node, as its shim and the agent both know them; standard library only."""

import json
import os
from pathlib import Path
from typing import Any, TypedDict, cast

LAUNCH, SEEN, STOP = "launch.json", "seen.json", "stop.json"
WORK, LOGS = "work", "logs"


class LaunchRank(TypedDict):
    rank: int
    env: dict[str, str]


class Launch(TypedDict):
    """What the shim starts; only the agent's own user may read it, for it holds the job's secrets."""

    command: str
    cwd: str
    uid: int | None  # None: as the agent itself
    gid: int | None
    doorbell: str  # a FIFO that tells the agent to look
    gpus: list[str]
    ranks: list[LaunchRank]


class Rank(TypedDict):
    rank: int
    pid: int
    ticks: int
    started_at: float
    ended_at: float | None
    exit: int | None
    signal: int | None


class Seen(TypedDict):
    """What became of it so far."""

    phase: str  # starting, running, stopping, ended
    pid: int  # of the shim
    ticks: int
    error: str | None
    ranks: list[Rank]


class Stop(TypedDict):
    grace_s: float


def write(path: Path, value: object) -> None:
    """Whole or not at all: readers see the old file or the new one."""
    fresh = path.with_name(f"{path.name}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(value, file)
    fresh.replace(path)


def read(path: Path) -> Any:
    """None where there is no such file, or where a power cut left an empty one."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def launch_of(directory: Path) -> Launch | None:
    return cast(Launch | None, read(directory / LAUNCH))


def seen_of(directory: Path) -> Seen | None:
    return cast(Seen | None, read(directory / SEEN))


def stop_of(directory: Path) -> Stop | None:
    return cast(Stop | None, read(directory / STOP))


def log_dir(directory: Path, rank: int) -> Path:
    return directory / LOGS / str(rank)


def ring(doorbell: str) -> None:
    """Ask the agent to look now; where none listens it will look when it starts."""
    try:
        bell = os.open(doorbell, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(bell, b".")
    except BlockingIOError:
        pass  # so many rings are waiting that one more says nothing new
    finally:
        os.close(bell)
