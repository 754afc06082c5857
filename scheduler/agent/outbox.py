"""Beats on their way out: numbered, sealed, cut to size, and never more than two without an answer."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from scheduler import wire

EXPIRES_S = 60.0
MAX_UNANSWERED = 2
_ROOM = wire.MAX_BEAT_BYTES - 4096


class Post(Protocol):
    """Takes a sealed beat to the broker; False where the broker is away."""

    def send(self, envelope: dict[str, Any]) -> bool: ...


class Outbox:
    def __init__(self, *, key: bytes, post: Post, clock: Callable[[], float] = time.monotonic) -> None:
        self._key, self._post, self._clock = key, post, clock
        self._seq = 0
        self._unanswered = 0
        self._last_sent = self._last_tried = float("-inf")
        self._broken = 0  # attempts in a row that failed

    def answered(self) -> None:
        self._unanswered = 0

    def may_send(self, every_s: float, *, now_please: bool) -> bool:
        """Regularly, or at once where something changed; slower and slower while the broker is away."""
        if self._unanswered >= MAX_UNANSWERED:
            return False
        if self._broken:
            return self._clock() - self._last_tried >= min(0.25 * 2.0 ** min(self._broken, 5), 5.0)
        return now_please or self._clock() - self._last_sent >= every_s

    def due_in(self, every_s: float) -> float:
        return max(0.0, self._last_sent + every_s - self._clock())

    def quiet_for(self) -> float:
        return self._clock() - self._last_sent

    def send(self, beat: wire.Beat) -> wire.Beat | None:
        """What was sent of it, numbered and dated; None where the broker is away."""
        self._seq += 1
        now = time.time()
        beat = fitted(replace(beat, seq=self._seq, sent_at=now, expires_at=now + EXPIRES_S))
        self._last_tried = self._clock()
        if not self._post.send(wire.seal("beat", beat.node, beat.to_body(), self._key)):
            self._broken += 1
            self._unanswered = 0  # a broken connection may have lost them
            return None
        self._broken, self._last_sent = 0, self._last_tried
        self._unanswered += 1
        return beat


def fitted(beat: wire.Beat) -> wire.Beat:
    """What lives goes first; ended runs follow as they fit and come up when those before are forgotten."""
    live = [run for run in beat.runs if run.state != "ended"]
    ended = [run for run in beat.runs if run.state == "ended"]
    runs = _as_fits(replace(beat, runs=()), [*live, *ended])
    return replace(beat, runs=runs)


def _as_fits(bare: wire.Beat, runs: Iterable[wire.RunSeen]) -> tuple[wire.RunSeen, ...]:
    room = _ROOM - _size(bare.to_body())
    kept: list[wire.RunSeen] = []
    for run in runs:
        room -= _size(run.to_body()) + 1
        if room < 0 or len(kept) == wire.MAX_RUNS:
            break
        kept.append(run)
    return tuple(kept)


def _size(value: object) -> int:
    """As it counts in the envelope, where each quotation mark is escaped."""
    text = wire.canonical(value)
    return len(text) + text.count('"') + text.count("\\")
