"""Starting one process in such a way that it cannot outlive the one that started it."""

import ctypes
import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Loaded here and not in the hook: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """From now on orphaned descendants become our children, whatever session they are in."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def die_with_parent(signum: int) -> Callable[[], None]:
    """A hook for Popen's preexec_fn: the kernel sends the signal when the parent dies."""
    parent = os.getpid()

    def hook() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # it died between fork and prctl
            os._exit(1)

    return hook


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path = Path("/"),
    as_user: str | None = None,
    death_signal: int = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start the command with its output appended to the log."""
    account = pwd.getpwnam(as_user) if as_user else None
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            preexec_fn=die_with_parent(death_signal),  # noqa: PLW1509  # we have one thread
        )


def last_words(log: Path) -> str:
    """The end of a log on one line, for the sentence that says why something did not start."""
    try:
        tail = log.read_bytes()[-2000:].decode("utf-8", "replace")
    except FileNotFoundError:
        return "it left no log"
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    return " / ".join(lines[-3:])[-500:] or "its log is empty"
