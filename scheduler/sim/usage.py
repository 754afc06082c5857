"""Decayed use of GPUs, by team and user: exact at every moment, whenever one looks."""

from dataclasses import dataclass
from typing import TypeAlias

LN_2 = 0.6931471805599453  # a literal: the same on every machine
Owner: TypeAlias = tuple[str, str]  # team, user


@dataclass(slots=True)
class _Meter:
    amount: float
    at: float
    gpus: int  # held now


class Usage:
    """GPU-seconds that halve every half-life; what is being held goes on counting by itself."""

    def __init__(self, half_life_s: float) -> None:
        self.half_life_s = half_life_s
        self._meters: dict[Owner, _Meter] = {}

    def change(self, owner: Owner, gpus: int, now: float) -> None:
        """From now on this user holds so many GPUs more, or fewer."""
        meter = self._meters.setdefault(owner, _Meter(0.0, now, 0))
        meter.amount, meter.at = self._decayed(meter, now), now
        meter.gpus += gpus

    def of(self, owner: Owner, now: float) -> float:
        """Decayed GPU-seconds of one user in one team."""
        meter = self._meters.get(owner)
        return self._decayed(meter, now) if meter else 0.0

    def all(self, now: float) -> dict[Owner, float]:
        """The same for everybody who ever held a GPU, in the order of their first."""
        return {owner: self._decayed(meter, now) for owner, meter in self._meters.items()}

    def _decayed(self, meter: _Meter, now: float) -> float:
        # The second part is the integral of what was held since, each second of it decayed by its own age:
        # looking in between changes nothing.
        fade: float = 0.5 ** ((now - meter.at) / self.half_life_s)
        return meter.amount * fade + meter.gpus * (1.0 - fade) * self.half_life_s / LN_2
