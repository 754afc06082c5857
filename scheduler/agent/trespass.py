"""Processes on GPUs that their run does not hold: CUDA_VISIBLE_DEVICES is only a request."""

from collections.abc import Iterable, Mapping

from scheduler import wire
from scheduler.agent import proc


def trespasses(
    processes: Iterable[tuple[str, int]], shims: Mapping[int, frozenset[str]]
) -> tuple[wire.Trespass, ...]:
    """`shims` says which GPUs belong to the tree below each shim; what a process says of itself counts for nothing."""
    found = [
        wire.Trespass(uuid, pid, wire.plain(proc.name(pid), 200) or "?")
        for uuid, pid in processes
        if uuid not in _gpus_of(pid, shims)
    ]
    return tuple(trespass for trespass in found if proc.stat(trespass.pid) is not None)[: wire.MAX_FINDINGS]


def _gpus_of(pid: int, shims: Mapping[int, frozenset[str]]) -> frozenset[str]:
    """Up the family tree to a shim: as subreapers they keep every descendant below them."""
    while pid > 1:
        if pid in shims:
            return shims[pid]
        seen = proc.stat(pid)
        if seen is None:
            break
        pid = seen.ppid
    return frozenset()
