"""Reads the files of a replay; what is wrong with one becomes a sentence with its place."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from portal import words
from scheduler.core.policy import NAMES, Policy
from scheduler.sim.clock import Case
from scheduler.sim.files import BadFile, decoded, read_cluster, read_faults, read_jobs, read_policy

T = TypeVar("T")
HINT = f"name a policy file, or one of {', '.join(NAMES)}"


@dataclass(frozen=True, slots=True)
class Source:
    """What is replayed, where it comes from, and how many of its jobs were left out for which reason."""

    case: Case
    name: str
    left_out: Mapping[str, int] = field(default_factory=dict)

    def told(self) -> str:
        """The same in one sentence."""
        case = self.case
        gpus, nodes = (
            words.many(case.cluster.gpus, "GPU"),
            words.many(len(case.cluster.machines), "node"),
        )
        faults = f", with {words.many(len(case.faults), 'fault')}" if case.faults else ""
        left = ", ".join(f"{words.count(number)} {why}" for why, number in self.left_out.items())
        jobs = words.many(len(case.asks), "job").capitalize()
        return f"{jobs} of {self.name} on {nodes} with {gpus}{faults}{left and '; left out: '}{left}"


def files(cluster: Path, jobs: Path, faults: Path | None, policy: Policy) -> Source:
    """Everything that one replay needs, from its own files."""
    machines = _read(cluster, read_cluster)
    asks = _read(jobs, read_jobs)
    befall = _read(faults, lambda text, name: read_faults(text, name, machines)) if faults else ()
    return Source(Case(machines, asks, befall, policy), jobs.name)


def policy(path: Path | None) -> Policy:
    """The policy of a file, or of a well-known name where there is no such file; without either the default."""
    if path is None:
        return Policy()
    return _read(path, read_policy) if os.path.exists(path) else named_policy(str(path))


def named_policy(name: str) -> Policy:
    """The policy of a well-known name, or of a file."""
    return Policy(name=name) if name in NAMES else _read(Path(name), read_policy, hint=HINT)


def text_of(path: Path, *, hint: str = "check the name") -> tuple[str, str]:
    """What stands in a file, and its name, for errors."""
    try:
        return decoded(path.read_bytes(), str(path)), str(path)
    except OSError as why:
        raise BadFile(str(path), 1, 1, f"cannot be read ({why.strerror}); {hint}") from why


def _read(path: Path, parse: Callable[[str, str], T], *, hint: str = "check the name") -> T:
    return parse(*text_of(path, hint=hint))
