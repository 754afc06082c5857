"""The agent's heart: look, reconcile, beat; once a second and whenever somebody rings."""

import logging
import os
import select
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scheduler import wire
from scheduler.agent import VERSION
from scheduler.agent.inbox import Inbox
from scheduler.agent.outbox import Outbox
from scheduler.agent.ranks import Ranks
from scheduler.agent.reconcile import Key, Want, reconcile
from scheduler.agent.specs import Spec, Specs
from scheduler.agent.trespass import trespasses
from scheduler.agent.watch import Watch

TURN_S = 1.0

log = logging.getLogger("berth.agent")


class Doorbell:
    """A FIFO that shims and threads ring; it has no reader to wait for, so nobody ever blocks on it."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def ring(self) -> None:
        try:
            os.write(self._fd, b".")
        except BlockingIOError:
            return  # enough rings are waiting

    def wait(self, limit_s: float) -> None:
        if self._poll.poll(limit_s * 1000):
            os.read(self._fd, 65536)


@dataclass(slots=True)
class Heart:
    node: str
    boot: int
    isolated: bool
    hardware: str  # digest of the inventory
    ranks: Ranks
    specs: Specs
    watch: Watch
    inbox: Inbox
    outbox: Outbox
    bell: Doorbell
    beat_every_s: float = 2.0
    _answers: int = 0
    _told: dict[Key, int] = field(default_factory=dict)  # ended runs, and the first beat that said so
    _last: object = None  # what the newest beat said of the runs
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="heart", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        self.bell.ring()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.turn()
            except Exception:  # the heart must go on beating, whatever one turn runs into
                log.exception("a turn failed")
                self._stop.wait(TURN_S)
            self.bell.wait(self._pause_s())

    def _pause_s(self) -> float:
        due = self.outbox.due_in(self.beat_every_s)
        return min(TURN_S, due + 0.005) if due > 0 else TURN_S

    def turn(self) -> None:
        self.ranks.look()
        orders = self.inbox.orders
        if orders is not None:
            self.beat_every_s = orders.beat_every_s
            self.obey(orders)
        self.beat(orders)

    def obey(self, orders: wire.Orders) -> None:
        """The same orders twice change nothing."""
        listed = {(run.run, run.epoch): run for run in orders.runs}
        told = [key for key, seq in self._told.items() if seq <= orders.ack]
        present = self.ranks.haves(told)
        self.specs.want(
            {k: run.digest for k, run in listed.items() if run.want == "run" and k not in present}
        )
        moves = reconcile({key: self._want(key, run) for key, run in listed.items()}, present)
        for key in moves.launch:
            self._launch(key)
        for key, grace_s in moves.stop:
            self.ranks.stop(key, grace_s)
        for key in moves.forget:
            self.ranks.forget(key)
            self._told.pop(key, None)

    def _want(self, key: Key, run: wire.RunWanted) -> Want:
        match self.specs.get(key):
            case Spec() as spec:
                gpus: frozenset[str] | None = frozenset(spec.gpus)
            case str():
                gpus = frozenset()  # refused: launching it is what says so
            case _:
                gpus = None
        return Want(stop=run.want == "stop", grace_s=run.grace_s, gpus=gpus)

    def _launch(self, key: Key) -> None:
        match self.specs.get(key):
            case Spec() as spec:
                self.ranks.launch(spec)
            case str() as refusal:
                self.ranks.refuse(key, refusal)
            case None:
                pass  # reconcile launches nothing without its spec

    def beat(self, orders: wire.Orders | None) -> None:
        urgent = self._heard()
        seen = self.ranks.seen()
        runs = _one_per_run({**self._not_here(orders, seen), **seen})
        changed = _gist(runs) != self._last
        if not self.outbox.may_send(self.beat_every_s, now_please=changed or urgent):
            return
        reading = self.watch.reading()
        beat = wire.Beat(
            node=self.node,
            boot=self.boot,
            seq=1,
            sent_at=0,
            expires_at=0,
            agent=VERSION,
            orders_seq=orders.seq if orders else 0,
            isolated=self.isolated,
            hardware=self.hardware,
            gpus=reading.gpus,
            trespass=trespasses(reading.processes, self.ranks.shims()),
            findings=reading.findings,
            runs=runs,
        )
        sent = self.outbox.send(beat)
        if sent is not None:
            self._last = _gist(runs)
            self._note_told(seen, sent)

    def _note_told(self, seen: Mapping[Key, wire.RunSeen], sent: wire.Beat) -> None:
        """An epoch that a newer one has taken the place of needs no more telling either."""
        newest = {run.run: run.epoch for run in sent.runs}
        for (run, epoch), known in seen.items():
            if known.state == "ended" and newest.get(run, -1) >= epoch:
                self._told.setdefault((run, epoch), sent.seq)

    def _heard(self) -> bool:
        """Whether the portal spoke since the last turn, and so as if it did not know this boot."""
        if self.inbox.answers == self._answers:
            return False
        self._answers = self.inbox.answers
        self.outbox.answered()
        return self.inbox.lost_touch and self.outbox.quiet_for() > 0.5

    def _not_here(
        self, orders: wire.Orders | None, seen: Mapping[Key, wire.RunSeen]
    ) -> dict[Key, wire.RunSeen]:
        """Every run in the orders is answered for: one on its way, or one of which nothing is left."""
        found: dict[Key, wire.RunSeen] = {}
        for run in orders.runs if orders else ():
            key = (run.run, run.epoch)
            if key not in seen:
                over = run.want == "stop" or self.ranks.is_gone(key)
                found[key] = wire.RunSeen(*key, "ended" if over else "starting")
        return found


def _one_per_run(seen: Mapping[Key, wire.RunSeen]) -> tuple[wire.RunSeen, ...]:
    """Of two epochs of a run, the newer."""
    newest = {key[0]: run for key, run in sorted(seen.items())}
    return tuple(newest.values())


def _gist(runs: tuple[wire.RunSeen, ...]) -> object:
    """What is worth a beat of its own; a run that is only being started is not."""
    return [run for run in runs if run.state != "starting"]
