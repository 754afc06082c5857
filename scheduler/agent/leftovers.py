"""Finds and ends what a killed shim left running: nobody else will."""

import signal

from scheduler.agent import proc, rundir


def sweep(work: str, ranks: list[rundir.Rank]) -> bool:
    """Kill what is left of a run; True once nothing is."""
    left = leftovers(work, ranks)
    proc.signal_all(left, signal.SIGKILL)
    return not left


def leftovers(work: str, ranks: list[rundir.Rank]) -> set[int]:
    """By the sessions its ranks led and by BERTH_WORK, which no other run on any node has; and their children."""
    sessions = {rank["pid"] for rank in ranks if not _is_reused(rank)}
    ours = {
        seen.pid
        for seen in proc.everyone()
        if seen.state not in "ZX"
        and (seen.session in sessions or proc.environ(seen.pid).get("BERTH_WORK") == work)
    }
    return ours | proc.descendants(ours)


def _is_reused(rank: rundir.Rank) -> bool:
    """A pid is not given out again while its session lives, so a leader with another start time is a stranger."""
    leader = proc.stat(rank["pid"])
    return leader is not None and leader.ticks != rank["ticks"]
