"""The supervisor: parent of everything `up` starts, and the one that ends it all when the front is gone."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from portal.up.attention import Attention
from portal.up.descendants import collect
from portal.up.lineup import ROOT, Child, Chore, Lineup, Stage
from portal.up.news import Teller
from portal.up.postgres import Postgres
from portal.up.process import become_subreaper, last_words, spawn
from portal.up.readiness import readiness
from portal.up.record import Record, forget
from portal.up.state import State, bound, write
from portal.up.stopping import stop_all
from portal.up.tables import fingerprint
from portal.up.trouble import Trouble
from portal.up.valkey import Valkey
from portal.up.watched import Watched

_START_LIMIT_S = 90
_TRIES = 3  # a child that dies so often before it was ever ready will not become so
_HOUSEKEEPING_S = 30.0


class Stopping(Exception):
    """The front is gone, or wants to go."""


@dataclass(slots=True)
class Keeper:
    """One run of `up`, from the first server to the last."""

    state: State
    lineup: Lineup
    record: Record
    teller: Teller
    front: int  # a pipe the front holds open as long as it lives; a byte on it asks us to end
    watched: list[Watched] = field(default_factory=list)
    attention: Attention = field(init=False)
    env: dict[str, str] = field(init=False)
    postgres: Postgres | None = None
    chore: subprocess.Popen[bytes] | None = None
    requests: int = 0  # to end: the second one means hurry

    def run(self) -> int:
        """Start everything, watch over it, end everything; the exit status of `up`."""
        become_subreaper()
        self.attention = Attention([signal.SIGTERM], [signal.SIGCHLD, signal.SIGINT, signal.SIGHUP])
        self.record.note(self.state, "keeper", os.getpid())
        self.env = {**os.environ, **self.lineup.env, "BERTH_UP": self.state.mark}
        try:
            self._bring_up()
            self._watch()
        except Stopping:
            status = 0
        except Trouble as why:
            self.teller.tell("trouble", sentence=str(why))
            status = 1
        except OSError as why:  # a disk that filled up, a process that could not be had
            self.teller.tell("trouble", sentence=f"It cannot go on: {why.strerror}{_where(why)}.")
            status = 1
        finally:  # also after a mistake of our own: nothing may outlive us
            stop_all(self.watched, tell=self.teller.tell, hurried=self._hurried)
        if self.postgres:
            self.postgres.forget_socket()
        forget(self.state)
        self.teller.tell("bye")
        return status

    def _bring_up(self) -> None:
        if self.lineup.postgres:
            self._serve_postgres()
        if self.lineup.valkey:
            self._serve_valkey()
        write(self.state.run / "environment.json", self._own_env())
        shown = [line for chore in self.lineup.chores for line in self._do(chore)]
        for wave in self.lineup.waves:
            self.teller.tell("step", title=wave.title)
            self._start(wave.title, [self._watch_over(child) for child in wave.children])
        self.teller.tell("ready", lines=shown)

    def _own_env(self) -> Mapping[str, str]:
        """What makes other words of manage.py speak to this portal while it runs."""
        return {
            name: self.env[name]
            for name in (*self.lineup.env, "DATABASE_URL", "REDIS_URL")
            if name in self.env
        }

    def _serve_postgres(self) -> None:
        self.teller.tell("step", title="PostgreSQL")
        self.postgres = server = Postgres(self.state.path / "postgres", log=self._log("postgres"))
        server.prepare()
        one = Watched("postgres", Stage.POSTGRES, start=server.spawn, answers=server.answers, log=server.log)
        self._start("PostgreSQL", [one])
        self.env["DATABASE_URL"] = server.url

    def _serve_valkey(self) -> None:
        self.teller.tell("step", title="Valkey")
        server = Valkey(self.state.path / "valkey", log=self._log("valkey"))
        server.prepare()
        one = Watched("valkey", Stage.VALKEY, start=server.spawn, answers=server.answers, log=server.log)
        self._start("Valkey", [one])
        self.env["REDIS_URL"] = server.url

    def _watch_over(self, child: Child) -> Watched:
        log = self._log(child.name)
        env = {name: value for name, value in {**self.env, **child.env}.items() if name not in child.without}
        return Watched(
            child.name,
            child.stage,
            start=lambda: spawn(child.command, log=log, env=env, cwd=ROOT),
            answers=readiness(child, log),
            log=log,
        )

    def _log(self, name: str) -> Path:
        log = self.state.log(name)
        bound(log)
        return log

    def _do(self, chore: Chore) -> list[str]:
        """Run a command to its end; what it said, if that is for the person."""
        self.teller.tell("step", title=chore.title)
        if chore.migrates and self._is_migrated():
            self.teller.tell("done", outcome="unchanged")
            return []
        log = self._log(chore.name)
        since = log.stat().st_size if log.exists() else 0
        self.chore = running = spawn(chore.command, log=log, env=self.env, cwd=ROOT)
        self._until(lambda: running.returncode is not None, f"{chore.title}: {log}")
        if running.returncode != 0:
            raise Trouble(f"{chore.title} failed: {last_words(log)} (see {log}).")
        if chore.migrates:
            (self.state.run / "tables").write_text(fingerprint(self.env["DATABASE_URL"]))
        self.teller.tell("done")
        return log.read_bytes()[since:].decode(errors="replace").splitlines() if chore.shown else []

    def _is_migrated(self) -> bool:
        left_as = self.state.run / "tables"
        return left_as.exists() and left_as.read_text() == fingerprint(self.env["DATABASE_URL"])

    def _start(self, title: str, these: list[Watched]) -> None:
        """Start these together and wait until each of them does its work."""
        for one in these:
            self.watched.append(one)
            self.record.note(self.state, one.name, one.start())
        self._until(
            lambda: not [one for one in these if not one.check_ready()], f"{title} did not become ready"
        )
        self.teller.tell("done")

    def _until(self, question: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _START_LIMIT_S
        while not question():
            if time.monotonic() > deadline:
                slow = ", ".join(str(one.log) for one in self.watched if not one.ready)
                raise Trouble(f"{what} within {_START_LIMIT_S} s: see {slow}.")
            self._turn(0.03)

    def _watch(self) -> NoReturn:
        while True:
            due = [one.due - time.monotonic() for one in self.watched if one.due is not None]
            self._turn(min([*due, _HOUSEKEEPING_S]))
            for one in self.watched:
                bound(one.log)

    def _turn(self, wait_s: float) -> None:
        """Wait a little, hear the front, collect the dead, start again who is due."""
        heard = self.attention.wait(self.front, timeout_s=wait_s)
        if heard:
            self._hear()
        if heard or self.attention.count:
            raise Stopping
        processes = [one.process for one in self.watched] + [self.chore]
        collect(one for one in processes if one is not None)
        for one in self.watched:
            self._mind(one)

    def _mind(self, one: Watched) -> None:
        if (wait_s := one.has_died()) is not None:
            if one.failures >= _TRIES and not one.ready:
                raise Trouble(f"{one.name} did not start: {last_words(one.log)} (see {one.log}).")
            self.teller.tell(
                "line", text=f"{one.name} {one.how_it_ended()}; it starts again in {wait_s:.0f} s"
            )
        elif one.due is not None and time.monotonic() >= one.due:
            self._start_again(one)

    def _start_again(self, one: Watched) -> None:
        try:
            self.record.note(self.state, one.name, one.start())
        except OSError as why:  # a full disk, say: the others need not die for it
            wait_s = one.put_off()
            self.teller.tell(
                "line", text=f"{one.name} cannot start ({why.strerror}); next try in {wait_s:.0f} s"
            )

    def _hear(self) -> None:
        self.requests += len(os.read(self.front, 64))

    def _hurried(self) -> bool:
        """Whether the person has asked twice."""
        if self.attention.wait(self.front, timeout_s=0):
            self._hear()
        return self.requests > 1 or self.attention.count > 1


def _where(why: OSError) -> str:
    return f" ({why.filename})" if why.filename else ""
