"""A real PostgreSQL in a directory of ours, reached by a Unix socket; needs no Django."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from portal.up.binaries import postgres_bin
from portal.up.process import last_words, spawn
from portal.up.sockets import socket_directory
from portal.up.trouble import Trouble
from portal.up.unprivileged import give, guise, reachable_bin

_DATABASE = "berth"
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# For tests: a crash of the machine may lose everything, and nobody minds.
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres:
    """One server; several live side by side, each in its own directory."""

    def __init__(self, directory: Path, *, fast: bool = False, log: Path | None = None) -> None:
        self.directory = directory.absolute()
        self.data = self.directory / "data"
        self.log = log or self.directory / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._fast = fast
        self._socket = self.directory / "socket"
        self._who = guise()

    @property
    def url(self) -> str:
        """What DATABASE_URL must be to reach it."""
        return f"postgresql://postgres@/{_DATABASE}?host={quote(str(self._socket))}"

    def start(self) -> None:
        """Make the database cluster where there is none, start the server, wait until it answers."""
        self.prepare()
        self.spawn()
        self.wait_ready()

    def prepare(self) -> None:
        """Everything that comes before the server's own start: programs, data, socket directory."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._who.user:
            self.directory.chmod(0o711)  # that user must pass through; what is inside stays closed
        self._bin = reachable_bin(postgres_bin(), self._who, self.directory)
        if self.data.exists():
            self._check_version()
        else:
            self._initdb()
        self._socket = socket_directory(self.directory)
        give(self.data, self._who)
        give(self._socket, self._who)

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the server; the caller waits for it."""
        end_leftover(self.data)
        settings = _SETTINGS | (_FAST if self._fast else {})
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(self._bin / "postgres"), "-D", str(self.data), "-k", str(self._socket), *options]
        self.process = spawn(
            [*self._who.prefix, *command],
            log=self.log,
            env=_environment(),
            as_user=self._who.user,
            death_signal=signal.SIGINT,
        )
        return self.process

    def wait_ready(self, limit_s: float = 30) -> None:
        """Wait until it answers, then make sure that our database is there."""
        deadline = time.monotonic() + limit_s
        while not self.answers():
            if self.process is not None and self.process.poll() is not None:
                raise Trouble(f"PostgreSQL did not start: {last_words(self.log)} (see {self.log}).")
            if time.monotonic() > deadline:
                raise Trouble(f"PostgreSQL did not answer within {limit_s:.0f} s: see {self.log}.")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes connections now; the first time our database is made."""
        try:
            with psycopg.connect(
                host=str(self._socket), user="postgres", dbname="postgres", autocommit=True
            ) as link:
                known = link.execute("select datname from pg_database").fetchall()
                if (_DATABASE,) not in known:
                    link.execute(sql.SQL("create database {}").format(sql.Identifier(_DATABASE)))
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self._socket), user="postgres", dbname="postgres", autocommit=True, connect_timeout=5
        )

    def stop(self, patience_s: float = 5) -> None:
        """Fast shutdown; where that takes too long the immediate one, which the write-ahead log mends."""
        for signum, wait_s in ((signal.SIGINT, patience_s), (signal.SIGQUIT, 2), (signal.SIGKILL, 5)):
            if self.process is None or self.process.poll() is not None:
                break
            self.process.send_signal(signum)
            try:
                self.process.wait(wait_s)
            except subprocess.TimeoutExpired:
                continue
        self.process = None
        self.forget_socket()

    def forget_socket(self) -> None:
        """Take away a socket directory that had to be made outside our own."""
        if self._socket.parent != self.directory:
            for leftover in self._socket.glob(".s.PGSQL.*"):
                leftover.unlink(missing_ok=True)
            self._socket.rmdir()
            (self.directory / "socket-is-in").unlink(missing_ok=True)

    def _check_version(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        said = subprocess.run(
            [self._bin / "postgres", "--version"], capture_output=True, text=True, check=True
        )
        ours = re.findall(r"\d+", said.stdout)[0]
        if made_by != ours:
            raise Trouble(
                f"{self.data} was made by PostgreSQL {made_by}, but this is PostgreSQL {ours}: name the "
                f"programs of version {made_by} in PG_BIN, or start afresh with another --state directory."
            )

    def _initdb(self) -> None:
        """Made under another name and renamed when whole: an interrupted first start leaves nothing half."""
        draft = self.directory / "data.draft"
        subprocess.run(["rm", "-rf", "--", draft], check=True)
        draft.mkdir(mode=0o700)
        give(draft, self._who)
        # Trust is for the socket alone, and its directory is ours alone.
        words = "--username=postgres --auth-local=trust --auth-host=reject --encoding=UTF8 --locale=C.UTF-8"
        command = [
            str(self._bin / "initdb"),
            "-D",
            str(draft),
            *words.split(),
            "--no-instructions",
            "--no-sync",
        ]
        made = spawn([*self._who.prefix, *command], log=self.log, env=_environment(), as_user=self._who.user)
        if made.wait(120) != 0:
            raise Trouble(
                f"PostgreSQL could not make its data directory: {last_words(self.log)} (see {self.log})."
            )
        draft.rename(self.data)


def _environment() -> dict[str, str]:
    """Nothing of the person's own: PGDATA, PGHOST and the like would lead the programs astray."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


def end_leftover(data: Path) -> None:
    """A killed `up` may leave a server on our data, or a pid file that now names somebody else."""
    note = data / "postmaster.pid"
    try:
        pid = int(note.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return
    if not _serves(pid, data):
        note.unlink(missing_ok=True)
        return
    for signum in (signal.SIGINT, signal.SIGQUIT):
        os.kill(pid, signum)
        deadline = time.monotonic() + 5
        while _serves(pid, data):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        else:
            return
    raise Trouble(
        f"An older PostgreSQL (process {pid}) still uses {data} and does not end; end it, then try again."
    )


def _serves(pid: int, data: Path) -> bool:
    """Whether that process is a server on our data: PostgreSQL makes its data its working directory."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True) == data.resolve()
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return False
