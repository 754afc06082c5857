"""What processes use: memory and processor time, read from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Use:
    """Of one process: resident memory in MiB, processor seconds since its start."""

    memory_mib: float
    cpu_s: float


def agents(state: Path) -> dict[int, Use]:
    """The agents of the `up` that keeps its state here, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"scheduler.agent" in words and any(word.startswith(bytes(state)) for word in words):
                found[int(entry.name)] = _use(entry)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _use(entry: Path) -> Use:
    pages = int((entry / "statm").read_text().split()[1])
    # Behind the name, which may hold spaces: utime and stime are fields 14 and 15 of the line.
    fields = (entry / "stat").read_text().rpartition(")")[2].split()
    return Use(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, (int(fields[11]) + int(fields[12])) / TICKS)
