"""Ships the ranks' logs to the portal: by offset, in order, within two seconds, for as long as it takes."""

import logging
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scheduler.agent import rundir
from scheduler.agent.door import Away, Door, Refusal
from scheduler.agent.ranks import FORGOTTEN, Ranks, Shelf
from scheduler.agent.spool import HEAD, SEGMENT, piece_at

CHUNK = 256 * 1024
LOOK_S = 0.25
GAP_S = 1.0  # between two chunks of a running rank, so that a loud one costs the portal little
KEEP_S = 600.0  # how long a forgotten run waits for its log to be taken
SHIPPED = "shipped.json"

log = logging.getLogger("berth.agent")


@dataclass(slots=True)
class Rank:
    """How far one rank's log has got."""

    next: int = 0
    not_before: float = 0.0
    given_up: bool = False  # the portal does not want it


class LogShip:
    def __init__(self, door: Door, ranks: Ranks) -> None:
        self._door, self._ranks = door, ranks
        self._known: dict[Path, dict[int, Rank]] = {}
        self._stop = threading.Event()
        self._wait_s, self._said = LOOK_S, ""

    def start(self) -> None:
        threading.Thread(target=self._run, name="logs", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._wait_s):
            try:
                hurry = self.round()
                self._wait_s, self._said = LOOK_S / 10 if hurry else LOOK_S, ""
            except Away as why:
                self._wait_s = min(max(0.5, self._wait_s * 1.5), 5.0)
                if str(why) != self._said:
                    self._said = str(why)
                    log.warning("logs wait on disk: %s", why)
            except Exception:  # a log is not worth the agent's life
                log.exception("logs cannot be shipped")
                self._wait_s = 5.0

    def round(self) -> bool:
        """True where an ended run's log is still on its way: people wait for its last lines."""
        hurry = False
        shelves = [shelf for shelf in self._ranks.shelves if shelf.directory.exists()]
        self._known = {s.directory: self._known.get(s.directory) or _shipped(s) for s in shelves}
        for shelf in shelves:
            known = self._known[shelf.directory]
            moved = [self._ship(shelf, rank, known[rank]) for rank in shelf.ranks]
            if any(moved):
                hurry = hurry or shelf.ended
                with suppress(OSError):
                    rundir.write(shelf.directory / SHIPPED, {str(r): known[r].next for r in known})
            elif shelf.forgotten and self._is_done(shelf, known):
                shutil.rmtree(shelf.directory, ignore_errors=True)
        return hurry

    def _ship(self, shelf: Shelf, rank: int, known: Rank) -> bool:
        """One chunk at most. True where it got further."""
        if known.given_up or (not shelf.ended and time.monotonic() < known.not_before):
            return False
        offset, piece = piece_at(rundir.log_dir(shelf.directory, rank), known.next, CHUNK)
        if not piece:
            return False
        path = f"runs/{shelf.run}/ranks/{rank}/log?offset={offset}"
        try:
            answer = self._door.post_bytes(path, piece)
        except Refusal as why:
            log.warning("the portal refuses the log of run %d rank %d: %s", shelf.run, rank, why)
            known.given_up = True
            return False
        if offset + len(piece) > HEAD * SEGMENT:
            known.not_before = time.monotonic() + GAP_S
        elif len(piece) < CHUNK:
            known.not_before = time.monotonic() + GAP_S / 2
        return _advance(known, _wanted_next(answer))

    def _is_done(self, shelf: Shelf, known: dict[int, Rank]) -> bool:
        """Nothing moved in this round; so what is left is unwanted, or the portal stalls."""
        if time.time() - (shelf.directory / FORGOTTEN).stat().st_mtime > KEEP_S:
            return True
        return all(
            rank.given_up or not piece_at(rundir.log_dir(shelf.directory, number), rank.next, 1)[1]
            for number, rank in known.items()
        )


def _shipped(shelf: Shelf) -> dict[int, Rank]:
    """Where an agent before us left off."""
    before = rundir.read(shelf.directory / SHIPPED) or {}
    return {rank: Rank(next=before.get(str(rank), 0)) for rank in shelf.ranks}


def _wanted_next(answer: Any) -> int:
    wanted = answer.get("next") if isinstance(answer, dict) else None
    if not isinstance(wanted, int) or wanted < 0:
        raise Away("The portal's answer to a log does not say what it wants next.")
    return wanted


def _advance(known: Rank, wanted: int) -> bool:
    """The portal decides; where it wants the same again, not before a moment has passed."""
    if wanted == known.next:
        known.not_before = time.monotonic() + GAP_S
        return False
    known.next = wanted
    return True
