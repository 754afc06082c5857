"""What /proc says about processes; standard library only, because the shim starts with it."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Stat(NamedTuple):
    pid: int
    state: str  # Z is a zombie: dead, not yet reaped
    ppid: int
    group: int
    session: int
    ticks: int  # start time since boot; with the pid it names one process for ever


def stat(pid: int) -> Stat | None:
    """None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself.
    rest = line[line.rindex(b")") + 2 :].split()
    return Stat(pid, rest[0].decode(), int(rest[1]), int(rest[2]), int(rest[3]), int(rest[19]))


def is_alive(pid: int, ticks: int) -> bool:
    """Whether this very process still runs; another one with the same pid does not count."""
    seen = stat(pid)
    return seen is not None and seen.ticks == ticks and seen.state not in "ZX"


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def everyone() -> Iterator[Stat]:
    for pid in pids():
        if (seen := stat(pid)) is not None:
            yield seen


def family(roots: Iterable[int]) -> list[Stat]:
    """All living children of `roots`, theirs too, whatever session they moved to."""
    children: dict[int, list[Stat]] = {}
    for seen in everyone():
        if seen.state not in "ZX":
            children.setdefault(seen.ppid, []).append(seen)
    found: dict[int, Stat] = {}
    todo = list(roots)
    while todo:
        fresh = {child.pid: child for child in children.get(todo.pop(), ()) if child.pid not in found}
        found |= fresh
        todo.extend(fresh)
    return list(found.values())


def descendants(roots: Iterable[int]) -> set[int]:
    return {member.pid for member in family(roots)}


def environ(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty where it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in text.decode(errors="replace").split("\0"))
    return {name: value for name, sign, value in pairs if sign}


def name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def signal_all(pids: Iterable[int], signum: int) -> None:
    """A negative number names a process group."""
    for pid in pids:
        try:
            os.kill(pid, signum)
        except (ProcessLookupError, PermissionError):
            continue  # gone already, or a set-uid program that only root may signal
