"""The runs on this node: launched or adopted from their directories, looked at, stopped, forgotten."""

import logging
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scheduler.agent import rundir
from scheduler.agent.boot import State
from scheduler.agent.launch import launch
from scheduler.agent.reconcile import Have, Key
from scheduler.agent.run import Run
from scheduler.agent.specs import Spec
from scheduler.wire import RunSeen, plain

FORGOTTEN = "forgotten"  # marks a directory that only waits for its log to be uploaded
_REMEMBERED = 1000

log = logging.getLogger("berth.agent")


@dataclass(frozen=True, slots=True)
class Shelf:
    """A run's logs, for the log shipper."""

    run: int
    directory: Path
    ranks: tuple[int, ...]
    ended: bool
    forgotten: bool


class Ranks:
    """Used by the heart's thread alone, but for `shelves`, which is replaced as a whole."""

    def __init__(self, state: State, *, node: str, isolated: bool, gpus: Iterable[str]) -> None:
        self._state, self._node, self._isolated = state, node, isolated
        self._gpus = frozenset(gpus)
        self._runs: dict[Key, Run] = {}
        self._failed: dict[Key, str] = {}  # never got as far as a directory
        self._leaving: dict[Key, Shelf] = {}
        self._children: set[int] = set()  # shims to reap; those of an agent before us are not ours to
        self._gone_file = state.private / "gone.json"
        self._gone = dict.fromkeys(_pairs(rundir.read(self._gone_file)))  # oldest first
        self.shelves: tuple[Shelf, ...] = ()
        self._adopt()

    def _adopt(self) -> None:
        """What an agent before us launched, running or ended, exit codes included."""
        for directory in sorted(self._state.runs.iterdir()):
            key = _key_of(directory)
            if key is None:
                shutil.rmtree(directory, ignore_errors=True)  # a launch that did not come to pass
                continue
            run = Run(directory)
            self._children |= {run.pid} if run.pid else set()
            if (directory / FORGOTTEN).exists():
                self._leaving[key] = _shelf(key, run, forgotten=True)
            else:
                log.info("adopted run %d", key[0])
                self._runs[key] = run

    def look(self) -> None:
        self._children = {pid for pid in self._children if not _reaped(pid)}
        for key, run in self._runs.items():
            if run.look():
                log.info("run %d is %s", key[0], run.phase)
        self._leaving = {key: shelf for key, shelf in self._leaving.items() if shelf.directory.exists()}
        shelves = [_shelf(key, run, forgotten=False) for key, run in self._runs.items()]
        self.shelves = (*shelves, *self._leaving.values())

    def haves(self, told: Iterable[Key]) -> dict[Key, Have]:
        """What reconcile needs to know; `told` are those whose end the portal has heard of."""
        known = set(told)
        present = {key: Have(live=False, gone=True) for key in self._gone}
        present |= {key: Have(live=False, told=key in known) for key in self._failed}
        for key, run in self._runs.items():
            present[key] = Have(live=run.phase != "ended", gpus=run.gpus, told=key in known)
        return present

    def seen(self) -> dict[Key, RunSeen]:
        """What the beat says of them."""
        failed = {key: RunSeen(*key, "ended", why) for key, why in self._failed.items()}
        return failed | {key: run.seen(key) for key, run in self._runs.items()}

    def is_gone(self, key: Key) -> bool:
        return key in self._gone

    def shims(self) -> dict[int, frozenset[str]]:
        return {run.pid: run.gpus for run in self._runs.values() if run.pid and run.phase != "ended"}

    def launch(self, spec: Spec) -> None:
        strange = [gpu for gpu in spec.gpus if gpu not in self._gpus]
        if strange:
            return self.refuse(spec.key, f"The spec names GPU {strange[0]}, which this node does not have.")
        directory = self._state.runs / f"{spec.run}.{spec.epoch}"
        try:
            pid = launch(
                spec,
                directory,
                node=self._node,
                doorbell=self._state.doorbell,
                isolated=self._isolated,
            )
        except OSError as why:
            return self.refuse(spec.key, f"The run could not be started: {why.strerror}.")
        self._children.add(pid)
        self._runs[spec.key] = Run(directory, pid)
        return None

    def refuse(self, key: Key, sentence: str) -> None:
        log.warning("run %d: %s", key[0], sentence)
        self._failed[key] = plain(sentence)

    def stop(self, key: Key, grace_s: float) -> None:
        if key in self._runs:
            self._runs[key].stop(grace_s)

    def forget(self, key: Key) -> None:
        """The portal knows all about it; its log may still be on its way."""
        self._gone[key] = None
        while len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]
        with suppress(OSError):  # a full disk: then a restarted agent tells of it once more
            rundir.write(self._gone_file, list(self._gone))
            if key in self._runs:
                (self._runs[key].directory / FORGOTTEN).write_text(str(time.time()))
        self._failed.pop(key, None)
        run = self._runs.pop(key, None)
        if run is not None:
            self._leaving[key] = _shelf(key, run, forgotten=True)


def _pairs(stored: list[list[int]] | None) -> list[Key]:
    return [(run, epoch) for run, epoch in stored or ()]


def _reaped(pid: int) -> bool:
    """True when there is nothing to reap, or never was."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _shelf(key: Key, run: Run, *, forgotten: bool) -> Shelf:
    return Shelf(key[0], run.directory, run.ranks, run.phase == "ended" or forgotten, forgotten)


def _key_of(directory: Path) -> Key | None:
    run, _, epoch = directory.name.partition(".")
    if run.isdigit() and epoch.isdigit() and rundir.launch_of(directory) is not None:
        return int(run), int(epoch)
    return None
