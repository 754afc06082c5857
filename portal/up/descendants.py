"""Who descends from whom on this machine, read from /proc, and how a whole family is ended."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """One process; a number may be given again, so the time of its start belongs to its name."""

    pid: int
    parent: int = field(compare=False)
    started: int  # in ticks since the machine booted
    name: str = field(compare=False)
    over: bool = field(compare=False)  # a zombie: ended, and not yet collected by its parent


def process(pid: int) -> Process | None:
    """The process with this number, if there is one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(pid, int(fields[1]), int(fields[19]), name, over=fields[0] in "ZX")


def everyone() -> list[Process]:
    """All processes we can see."""
    found = (process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return [one for one in found if one is not None]


def descendants(*roots: int) -> list[Process]:
    """Everyone below these processes that still runs, whatever session or group it is in."""
    children: dict[int, list[Process]] = {}
    for one in everyone():
        children.setdefault(one.parent, []).append(one)
    below, queue = [], list(roots)
    while queue:
        mine = children.get(queue.pop(), [])
        below += mine
        queue += [one.pid for one in mine]
    return [one for one in below if not one.over]


def marked(mark: str) -> list[Process]:
    """Everyone whose environment carries this NAME=value, except ourselves."""
    return [one for one in everyone() if one.pid != os.getpid() and not one.over and _carries(one.pid, mark)]


def _carries(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or not ours to look into
        return False


def end(
    find: Callable[[], Iterable[Process]],
    *,
    patience_s: float,
    known: Sequence[subprocess.Popen[bytes]] = (),
) -> bool:
    """Ask everyone found to end, then insist, until nobody is found; whether that came true."""
    asked: set[Process] = set()
    patient_until = time.monotonic() + patience_s
    while family := whole(asked | set(find())):
        now = time.monotonic()
        if now > patient_until + 5:
            return False
        # Elders first: who watches over others should hear of the end before they do.
        for one in sorted(family, key=lambda one: (one.started, one.pid)):
            if now > patient_until:
                send(one, signal.SIGKILL)
            elif one not in asked:
                # PostgreSQL takes SIGTERM as "when the last client has left".
                send(one, signal.SIGINT if one.name == "postgres" else signal.SIGTERM)
        asked |= family
        collect(known)
        time.sleep(0.02)
    collect(known)
    return True


def whole(family: set[Process]) -> set[Process]:
    """Those of them that still run, with all below them: children of a killed parent would be lost from sight."""
    now = {one.pid: one for one in everyone() if not one.over}
    alive = {now[one.pid] for one in family if one.pid in now and now[one.pid].started == one.started}
    return alive | set(descendants(*(one.pid for one in alive)))


def send(to: Process, signum: int) -> None:
    """Signal this very process, not another that got its number."""
    now = process(to.pid)
    if now is not None and now.started == to.started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(to.pid, signum)


def collect(known: Iterable[subprocess.Popen[bytes]] = ()) -> None:
    """Take the exit status of every ended child, so that no zombie stays; the known ones learn theirs."""
    ours = {one.pid: one for one in known}
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in ours:
                ours[ended.si_pid].poll()
            else:  # an orphan that became ours
                os.waitpid(ended.si_pid, 0)
