"""Quota levels and teams' bills to bars. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from portal import words
from portal.home.spending import Spent
from portal.jobs.capacity import Level
from portal.showback.pricing import Bill


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """What a team, with all below it, holds of its quota of one type."""

    team: str
    gpu_type: str
    width: str  # of the held part
    held: int
    nominal: int
    text: str
    said: str


def quota_bars(levels: Iterable[Level]) -> list[QuotaBar]:
    """Each level once, in the order given."""
    return [_bar(level) for level in dict.fromkeys(levels)]


def _bar(level: Level) -> QuotaBar:
    part = min(1.0, level.held / level.nominal) if level.nominal else float(level.held > 0)
    over = level.held - level.nominal
    rest = (
        f"{words.count(over)} over"
        if over > 0
        else f"{words.count(-over)} left"
        if over
        else "all of it held"
    )
    return QuotaBar(
        team=level.team,
        gpu_type=level.gpu_type,
        width=f"{100 * part:.4g}%",
        held=level.held,
        nominal=level.nominal,
        text=rest,
        said=f"{level.team}: {level.held} of {level.nominal} {level.gpu_type} held, {rest}",
    )


@dataclass(frozen=True, slots=True)
class SpentBar:
    """A team's part of what everybody spent."""

    team: str
    kind: int
    bill: Bill
    width: str


def spent_bars(each: Iterable[Spent]) -> list[SpentBar]:
    """As long as its share of the dearest."""
    rows = list(each)
    most = max((one.bill.micro_ms for one in rows), default=0) or 1
    return [SpentBar(one.team, one.kind, one.bill, f"{100 * one.bill.micro_ms / most:.4g}%") for one in rows]
