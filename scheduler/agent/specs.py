"""What a run is, as the portal describes it: fetched over HTTP, checked against the digest in the orders."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler import wire
from scheduler.agent.door import Away, Door, Refusal
from scheduler.agent.reconcile import Key
from scheduler.shape import Check, Refused, Shape, checked, each, number, or_none, text, whole

log = logging.getLogger("berth.agent")


def _prose(limit: int) -> Check:
    """Text a process can be given: several lines are fine, a NUL is not."""

    def check(value: object, name: str) -> str:
        if isinstance(value, str) and len(value) <= limit and "\0" not in value:
            return value
        raise Refused("malformed", f"{name} must be a text of at most {limit} characters without NUL.")

    return check


def _environment() -> Check:
    text = _prose(131_072)

    def check(value: object, name: str) -> dict[str, str]:
        if not isinstance(value, Mapping) or len(value) > 1000:
            raise Refused("malformed", f"{name} must be an object of at most 1000 entries.")
        for key in value:
            if not isinstance(key, str) or not key or "=" in key or "\0" in key:
                raise Refused("malformed", f"{name} has a name that no variable can have.")
        return {key: text(item, f"{name}.{key}") for key, item in value.items()}

    return check


@dataclass(frozen=True, slots=True)
class SpecRank(Shape):
    rank: int = checked(whole(0, 2**24))
    local_rank: int = checked(whole(0, wire.MAX_RANKS))
    gpu_uuid: str = checked(text(96))


@dataclass(frozen=True, slots=True)
class Spec(Shape):
    run: int = checked(whole(1))
    job: int = checked(whole(1))
    epoch: int = checked(whole())
    team: str = checked(_prose(500))
    user: str = checked(_prose(500))
    command: str = checked(_prose(1_000_000))
    env: Mapping[str, str] = checked(_environment())
    world_size: int = checked(whole(1, 2**24))
    node_rank: int = checked(whole(0, 2**24))
    ranks: tuple[SpecRank, ...] = checked(each(SpecRank, wire.MAX_RANKS, "rank"))
    master_addr: str = checked(_prose(255))
    master_port: int = checked(whole(1, 65535))
    uid: int | None = checked(or_none(whole(1, 2**31)))  # never root
    gid: int | None = checked(or_none(whole(1, 2**31)))
    grace_s: float = checked(number(0, 86_400))

    @property
    def key(self) -> Key:
        return self.run, self.epoch

    @property
    def gpus(self) -> list[str]:
        """In the order of the local ranks, each once."""
        return list(dict.fromkeys(r.gpu_uuid for r in sorted(self.ranks, key=lambda r: r.local_rank)))


def understood(text: Any, key: Key, digest: str) -> Spec | str:
    """The spec, or the sentence that says why it is refused."""
    if wire.digest(text) != digest:
        return "The spec is not the one the orders name; it was refused."
    try:
        spec = Spec.from_body(text)
    except Refused as why:
        return f"The spec was refused: {why.sentence}"
    return spec if spec.key == key else "The spec is of another run; it was refused."


class Specs:
    """Fetches in a thread of its own, so that a slow portal never holds up the heart."""

    def __init__(self, door: Door, ring: Callable[[], None]) -> None:
        self._door, self._ring = door, ring
        self._wanted: dict[Key, str] = {}
        self._found: dict[Key, Spec | str] = {}
        self._news = threading.Condition()
        self._stopped = False

    def want(self, wanted: Mapping[Key, str]) -> None:
        """The whole set, by digest; what is no longer in it is dropped."""
        with self._news:
            if self._wanted != wanted:
                same = {key for key, digest in wanted.items() if self._wanted.get(key) == digest}
                self._wanted = dict(wanted)
                self._found = {key: spec for key, spec in self._found.items() if key in same}
                self._news.notify()

    def get(self, key: Key) -> Spec | str | None:
        return self._found.get(key)

    def start(self) -> None:
        threading.Thread(target=self._run, name="specs", daemon=True).start()

    def stop(self) -> None:
        with self._news:
            self._stopped = True
            self._news.notify()

    def _run(self) -> None:
        wait_s, said = 0.2, ""
        while (missing := self._missing()) is not None:
            trouble = ""
            for key, digest in missing.items():
                try:
                    spec = understood(self._door.get(f"runs/{key[0]}/spec"), key, digest)
                except (Away, Refusal) as why:
                    trouble = f"the spec of run {key[0]} is not to be had: {why}"
                    continue
                with self._news:
                    self._found[key] = spec
                self._ring()
            if trouble and trouble != said:
                log.warning("%s", trouble)
            said, wait_s = trouble, min(wait_s * 1.5, 5.0) if trouble else 0.2
            if trouble:
                with self._news:
                    self._news.wait(wait_s)

    def _missing(self) -> dict[Key, str] | None:
        """Waits for something to fetch; None when told to stop."""
        with self._news:
            while not self._stopped:
                missing = {key: text for key, text in self._wanted.items() if key not in self._found}
                if missing:
                    return missing
                self._news.wait()
        return None
