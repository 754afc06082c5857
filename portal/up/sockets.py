"""Places where servers listen: a directory short enough for a Unix socket, a port that is free."""

import errno
import os
import secrets
import socket
import stat
import tempfile
from pathlib import Path

_LONGEST = 107 - len("/.s.PGSQL.5432")  # sun_path holds 108 bytes with the final zero
# Below the ports that Linux gives to connections: one of those could be taken between choice and use.
_QUIET = range(20_000, 32_000)


def socket_directory(directory: Path) -> Path:
    """A private directory for sockets: inside `directory`, or a short one where that path is too long."""
    inside = directory / "socket"
    if len(os.fsencode(inside.absolute())) <= _LONGEST:
        inside.mkdir(mode=0o700, exist_ok=True)
        return inside.absolute()
    note = directory / "socket-is-in"
    if note.exists() and _is_private(Path(note.read_text())):
        return Path(note.read_text())  # left by a run that was killed: used again, not littered
    short = Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
    note.write_text(str(short))
    return short


def _is_private(place: Path) -> bool:
    try:
        found = place.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def free_port() -> int:
    """A port nobody listens on at this moment; whoever uses it must be ready to find it taken."""
    chosen = (secrets.choice(_QUIET) for _ in range(50))
    return next(filter(is_free, chosen), 0) or _any_port()


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a server could listen on 127.0.0.1 at this port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: ignore old connections
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise
            return False
    return True
