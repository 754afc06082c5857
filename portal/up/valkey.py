"""A real Valkey (or Redis) in a directory of ours, on a port of 127.0.0.1; needs no Django."""

import hashlib
import os
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

from portal.up.binaries import valkey_server
from portal.up.process import last_words, spawn
from portal.up.sockets import free_port, is_free
from portal.up.trouble import Trouble

_USER = "portal"
_PORTS_TRIED = 5


class Valkey:
    """One server; several live side by side, each in its own directory and on its own port."""

    def __init__(self, directory: Path, *, fast: bool = False, log: Path | None = None) -> None:
        self.directory = directory.absolute()
        self.log = log or self.directory / "valkey.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._fast = fast
        self._settled = False

    @property
    def port(self) -> int:
        """Kept between runs, so that addresses people wrote down stay true."""
        return int((self.directory / "port").read_text())

    @property
    def address(self) -> str:
        """Without a user: where agents find it."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def url(self) -> str:
        """What REDIS_URL must be for the portal to reach it."""
        return f"redis://{_USER}:{self._password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server and wait until it answers; on another port where ours was taken meanwhile."""
        self.prepare()
        for attempts_left in reversed(range(_PORTS_TRIED)):
            self.spawn()
            try:
                self.wait_ready()
                break
            except PortTaken:
                if not attempts_left:
                    raise

    def prepare(self) -> None:
        """The directory, the portal's password and a port."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.directory / "password").exists():
            self._write("password", secrets.token_urlsafe(32))
        self._password = (self.directory / "password").read_text()
        if not (self.directory / "port").exists():
            self._write("port", str(free_port()))

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the server; the caller waits for it. Once it has answered, its port does not change any more."""
        if not self._settled and not is_free(self.port):
            self._write("port", str(free_port()))
        self._write("valkey.conf", self._settings())
        self._log_from = self.log.stat().st_size if self.log.exists() else 0
        command = [str(valkey_server()), str(self.directory / "valkey.conf")]
        self.process = spawn(command, log=self.log, env={"PATH": os.environ.get("PATH", os.defpath)})
        return self.process

    def wait_ready(self, limit_s: float = 30) -> None:
        """Wait until it answers with its data loaded."""
        deadline = time.monotonic() + limit_s
        while not self.answers():
            if self.process is not None and self.process.poll() is not None:
                raise self._why_it_died()
            if time.monotonic() > deadline:
                raise Trouble(f"Valkey did not answer within {limit_s:.0f} s: see {self.log}.")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes our password and answers a ping now."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as link:
                link.sendall(f"AUTH {_USER} {self._password}\r\nPING\r\nQUIT\r\n".encode())
                self._settled = b"+PONG" in link.makefile("rb").read()
        except OSError:
            return False
        return self._settled

    def stop(self, patience_s: float = 3) -> None:
        """SIGTERM makes it write its log of changes to disk and leave."""
        for signum, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5)):
            if self.process is None or self.process.poll() is not None:
                break
            self.process.send_signal(signum)
            try:
                self.process.wait(wait_s)
            except subprocess.TimeoutExpired:
                continue
        self.process = None

    def _settings(self) -> str:
        """Node users are not here: the portal makes them again from its own database."""
        directory = str(self.directory).replace("\\", "\\\\").replace('"', '\\"')
        digest = hashlib.sha256(self._password.encode()).hexdigest()
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f'dir "{directory}"',
            "daemonize no",
            'save ""',
            "maxmemory 256mb",
            "maxmemory-policy noeviction",
            "appendfsync everysec",
            f"appendonly {'no' if self._fast else 'yes'}",
            "user default off",
            f"user {_USER} on #{digest} ~* &* +@all",
        ]
        return "\n".join(lines) + "\n"

    def _why_it_died(self) -> Trouble:
        with self.log.open("rb") as log:
            log.seek(self._log_from)
            said = log.read()
        if b"in use" in said or b"Failed listening" in said:
            return PortTaken(f"Port {self.port} on 127.0.0.1 was taken while Valkey started.")
        return Trouble(f"Valkey did not start: {last_words(self.log)} (see {self.log}).")

    def _write(self, name: str, text: str) -> None:
        """Whole or not at all, and readable by nobody else."""
        draft = self.directory / f".{name}"
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(text)
        draft.replace(self.directory / name)


class PortTaken(Trouble):
    """Somebody else listens where we wanted to."""
