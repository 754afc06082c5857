"""Use of GPUs that fades: every GPU-second counts half as much one half-life later."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from scheduler.core.model import Moment

LN_2 = 0.6931471805599453  # a literal: the same on every machine
Owner: TypeAlias = tuple[str, str]  # team, user


def decayed(value: float, dt: float, half_life: float) -> float:
    """What is left of it after so long."""
    left: float = 0.5 ** (dt / half_life)
    return value * left


def accrued(gpus: float, dt: float, half_life: float) -> float:
    """GPU-seconds of so many GPUs held for so long until now, each second faded by its own age."""
    fading = LN_2 * (dt / half_life)
    if fading < 1e-3:
        # 1 - 0.5**x loses its digits near 0, and a long half-life would make short use free of charge.
        return gpus * dt * (1 - fading / 2 * (1 - fading / 3 * (1 - fading / 4 * (1 - fading / 5))))
    return gpus * half_life / LN_2 * (1.0 - decayed(1.0, dt, half_life))


@dataclass(slots=True)
class Meter:
    """One user's decayed GPU-seconds: exact at every moment, however often and in which order one asks."""

    half_life: float
    value: float = 0.0  # at the moment `at`
    at: Moment = 0.0
    gpus: int = 0  # held since then

    def read(self, now: Moment) -> float:
        """Decayed GPU-seconds at this moment, not before the last change."""
        dt = now - self.at
        return decayed(self.value, dt, self.half_life) + accrued(self.gpus, dt, self.half_life)

    def turn(self, gpus: int, now: Moment) -> None:
        """From this moment on so many more GPUs are held, or fewer; news may come late."""
        late = self._go_to(now)
        self.gpus += gpus
        self.value += accrued(gpus, late, self.half_life)

    def add(self, gpu_seconds: float, now: Moment) -> None:
        """Count use that was over at this moment."""
        late = self._go_to(now)
        self.value += decayed(gpu_seconds, late, self.half_life)

    def _go_to(self, now: Moment) -> float:
        """Bring the meter up to this moment; it never goes back, but says by how much the news is late."""
        if now >= self.at:
            self.value, self.at = self.read(now), now
        return self.at - now


class Usage:
    """A meter for each user of each team."""

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self._meters: dict[Owner, Meter] = {}

    def change(self, owner: Owner, gpus: int, now: Moment) -> None:
        """From this moment on this user holds so many GPUs more, or fewer."""
        if owner not in self._meters:
            self._meters[owner] = Meter(self.half_life, at=now)
        self._meters[owner].turn(gpus, now)

    def of(self, owner: Owner, now: Moment) -> float:
        """Decayed GPU-seconds of one user in one team."""
        return self._meters[owner].read(now) if owner in self._meters else 0.0

    def all(self, now: Moment) -> dict[Owner, float]:
        """The same for everybody who ever held a GPU: what a snapshot wants to know."""
        return {owner: meter.read(now) for owner, meter in self._meters.items()}


def used(spans: Iterable[tuple[int, Moment, Moment]], now: Moment, half_life: float) -> float:
    """The same from records of (GPUs, from, until), those that still last cut off now.

    History that is worked out anew is neither lost nor counted twice when a program starts again.
    """
    ended = ((gpus, since, min(until, now)) for gpus, since, until in spans if since < now)
    return sum(
        decayed(accrued(gpus, until - since, half_life), now - until, half_life)
        for gpus, since, until in ended
    )
