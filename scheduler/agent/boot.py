"""The agent's own directory: its lock, its claim, its boot number, and whether ranks can be kept apart."""

import fcntl
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from scheduler import wire
from scheduler.agent import rundir

NOBODY = 65534


class Trouble(Exception):
    """The agent cannot start; the message says why and how to mend it."""


class State:
    """`private` is the agent's alone; `runs` may be walked through by ranks, but not listed."""

    def __init__(self, directory: Path) -> None:
        self.private = directory.absolute() / "private"
        self.runs = directory.absolute() / "runs"
        try:
            for path, mode in ((directory, 0o711), (self.private, 0o700), (self.runs, 0o711)):
                path.mkdir(parents=True, exist_ok=True)
                path.chmod(mode)
        except OSError as why:
            raise Trouble(f"The state directory {directory} cannot be used: {why.strerror}.") from why
        self._lock = self._lock_or_refuse(directory)
        self.claim = self._claim()
        self.boot = self._next_boot()
        self.doorbell = self.private / "doorbell"
        if not self.doorbell.exists():
            os.mkfifo(self.doorbell, 0o600)

    def _lock_or_refuse(self, directory: Path) -> int:
        """Held until the process ends, however it ends."""
        lock = os.open(self.private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Trouble(f"Another agent is running in {directory}; give each its own --state.") from None
        return lock

    def _claim(self) -> str:
        """Made once; the portal knows by it that a later agent of this name is the same node."""
        path = self.private / "claim"
        with suppress(FileNotFoundError):
            return path.read_text()
        fresh = path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())  # lost in a power cut, the node could never join under its name again
        fresh.replace(path)
        return path.read_text()

    def _next_boot(self) -> int:
        """Larger than ever before, also where the clock was set back."""
        path = self.private / "boot.json"
        last = rundir.read(path) or 0
        boot = max(int(time.time() * 1000), int(last) + 1)
        rundir.write(path, boot)
        return boot


def can_isolate(runs: Path) -> bool:
    """Whether ranks run under uids of their own. Where we could but they cannot reach `runs`, nothing runs at all:
    a job must never be root because of a closed directory.
    """
    if os.geteuid() != 0 or not _may_change_users():
        return False
    for folder in (*reversed(runs.resolve().parents), runs):
        if not folder.stat().st_mode & 0o001:
            raise Trouble(
                f"jobs run under users of their own, and those cannot pass through {folder}. "
                f"Choose another --state, such as /var/lib/berth-agent, or: chmod o+x {folder}"
            )
    return True


def _may_change_users() -> bool:
    """Root inside a user namespace may not be allowed to."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def checked_name(name: str) -> str:
    if not wire.NODE_NAME.fullmatch(name):
        raise Trouble(f"{name!r} is no node name: use up to 63 of a-z, 0-9 and -, e.g. n01.")
    return name
