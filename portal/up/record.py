"""What a running `up` notes about itself, so that the next one can end what a killed one left behind."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from portal.up.descendants import Process, end, marked, process, whole
from portal.up.state import State, default_path, write


@dataclass(slots=True)
class Record:
    """Kept in the state's run directory while `up` runs."""

    port: int
    front: int
    people: dict[str, list[int]] = field(default_factory=dict)  # name -> number, time of start

    def note(self, state: State, name: str, pid: int) -> None:
        """Remember one process of ours."""
        if seen := process(pid):
            self.people[name] = [seen.pid, seen.started]
            with contextlib.suppress(OSError):  # a full disk: the mark in its environment finds it too
                write(state.run / "up.json", {"boot": _boot(), **asdict(self)})


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _read(state: State) -> dict[str, Any]:
    """Nothing after a reboot: then every number belongs to somebody else."""
    try:
        noted: dict[str, Any] = json.loads((state.run / "up.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return noted if noted.get("boot") == _boot() else {}


def running(state: State) -> Record | None:
    """The `up` that has this state now, as long as its front process lives."""
    noted = _read(state)
    front = noted.get("people", {}).get("front")
    if not front or (seen := process(front[0])) is None or seen.started != front[1]:
        return None
    return Record(noted["port"], noted["front"], noted["people"])


def leftovers(state: State) -> list[Process]:
    """Whoever a killed `up` left behind: those it noted, and all that carry its mark."""
    started: dict[int, int] = dict(_read(state).get("people", {}).values())
    alive = [one for pid in started if (one := process(pid)) and not one.over and one.started == started[pid]]
    return alive + marked(f"BERTH_UP={state.mark}")


def end_leftovers(state: State) -> int:
    """End them by their numbers; how many there were."""
    count = len(whole(set(leftovers(state))))
    end(lambda: leftovers(state), patience_s=3)
    return count


def speak_to_running(root: Path) -> None:
    """Let Django's own words reach the portal that runs here now, unless a database is named already."""
    noted = default_path(root) / "run" / "environment.json"
    if "DATABASE_URL" in os.environ or not os.access(noted, os.R_OK):
        return
    for name, value in json.loads(noted.read_text()).items():
        os.environ.setdefault(name, value)


def forget(state: State) -> None:
    """A clean end leaves no notes."""
    for name in ("up.json", "environment.json"):
        (state.run / name).unlink(missing_ok=True)
