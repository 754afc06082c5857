"""One run on this node, seen through its directory: what its shim wrote, or what became of a shim that died."""

import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from scheduler.agent import proc, rundir
from scheduler.agent.leftovers import sweep
from scheduler.agent.reconcile import Key
from scheduler.wire import RankSeen, RunSeen, plain

STARTS_WITHIN_S = 5.0  # a directory without a word from its shim for this long has none

log = logging.getLogger("berth.agent")


class Run:
    def __init__(self, directory: Path, pid: int | None = None) -> None:
        """`pid` is the shim we just started; None where we found the directory."""
        self.directory = directory
        launch = rundir.launch_of(directory)
        assert launch is not None  # a directory of this name is made with it
        self.gpus = frozenset(launch["gpus"])
        self.ranks = tuple(rank["rank"] for rank in launch["ranks"])
        self._work = launch["cwd"]
        self._shim = proc.stat(pid) if pid else None
        self._seen: rundir.Seen | None = None
        self._read_at: tuple[int, int] | None = None
        self._stop_written: float | None = None
        self.phase = "starting"
        self._refresh()

    @property
    def pid(self) -> int | None:
        if self._seen:
            return self._seen["pid"]
        return self._shim.pid if self._shim else None

    def look(self) -> bool:
        """True when its phase changed."""
        before = self.phase
        self._refresh()
        if self.phase != "ended" and not self._has_shim():
            self._refresh()  # its last word may have come in between
            if self.phase != "ended":
                self._bury()
        return self.phase != before

    def seen(self, key: Key) -> RunSeen:
        state = self._seen
        error = state["error"] if state else None
        ranks = [_rank_seen(rank) for rank in state["ranks"]] if state else []
        return RunSeen(*key, self.phase, plain(error) if error else None, tuple(ranks))

    def stop(self, grace_s: float) -> None:
        """Level, not edge: may be asked again every second."""
        news = self._stop_written is None or grace_s < self._stop_written
        if not news and self.phase == "stopping":
            return
        try:
            if news:
                rundir.write(self.directory / rundir.STOP, rundir.Stop(grace_s=grace_s))
                self._stop_written = grace_s
            self._signal_shim()
        except OSError as why:  # the job may have filled the disk; it must not be safe from us for that
            log.warning("run in %s is killed without grace: %s", self.directory.name, why)
            if self.pid:
                proc.signal_all(proc.descendants([self.pid]), signal.SIGKILL)

    def _refresh(self) -> None:
        try:
            found = os.stat(self.directory / rundir.SEEN)
        except FileNotFoundError:
            return
        if (found.st_ino, found.st_mtime_ns) != self._read_at:
            self._read_at = (found.st_ino, found.st_mtime_ns)
            self._seen = rundir.seen_of(self.directory)
            if self._seen:
                self.phase = self._seen["phase"]

    def _has_shim(self) -> bool:
        if self._seen:
            return proc.is_alive(self._seen["pid"], self._seen["ticks"])
        if self._shim:
            return proc.is_alive(self._shim.pid, self._shim.ticks)
        return time.time() - os.stat(self.directory).st_mtime < STARTS_WITHIN_S

    def _signal_shim(self) -> None:
        """By a handle on the process, so that a reused pid is never hit."""
        if self.pid is None or not self._has_shim():
            return
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                if self._has_shim():
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
            finally:
                os.close(handle)

    def _bury(self) -> None:
        """Its shim is dead. End what is left, then write the last word in its place."""
        self.phase = "stopping"
        if not sweep(self._work, self._seen["ranks"] if self._seen else []):
            return
        now = time.time()
        seen = self._seen or rundir.Seen(phase="", pid=0, ticks=0, error=None, ranks=[])
        for rank in seen["ranks"]:
            if rank["ended_at"] is None:
                rank["ended_at"] = now  # how is not known: whoever killed the shim did not mean the job
        seen["phase"] = "ended"
        seen["error"] = "The process that watched over the ranks was killed; the ranks were ended."
        if self._seen is None:
            seen["error"] = "The process that watches over the ranks did not start."
        self._seen = seen
        self.phase = "ended"
        with suppress(OSError):
            rundir.write(self.directory / rundir.SEEN, seen)


def _rank_seen(rank: rundir.Rank) -> RankSeen:
    return RankSeen(
        rank=rank["rank"],
        state="running" if rank["ended_at"] is None else "ended",
        exit=rank["exit"],
        signal=rank["signal"],
        started_at=rank["started_at"],
        ended_at=rank["ended_at"],
    )
