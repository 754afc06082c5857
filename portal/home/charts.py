"""Quota levels and teams' bills to bars. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from portal import words
from portal.home.spending import Spent
from portal.jobs.capacity import Level
from portal.jobs.charts import anchor, limit_shown
from portal.showback.pricing import Bill


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """What a team, with all below it, holds of its quota of one type; places in percent of all it may hold."""

    team: str
    gpu_type: str
    used: str  # where its own part ends
    held_to: str  # where what it borrowed ends
    mark: str  # where its own quota ends
    anchor: str  # to which side of the mark its number stands
    held: int
    nominal: int
    limit: int | None  # with all that it may borrow, where there is room for it
    text: str
    said: str


def quota_bars(levels: Iterable[Level]) -> list[QuotaBar]:
    """Each level once, in the order given."""
    return [_bar(level) for level in dict.fromkeys(levels)]


def _bar(level: Level) -> QuotaBar:
    whole = max(level.limit or level.nominal, level.held, 1)
    rest = _rest(level)
    return QuotaBar(
        team=level.team,
        gpu_type=level.gpu_type,
        used=_percent(min(level.held, level.nominal), whole),
        held_to=_percent(level.held, whole),
        mark=_percent(level.nominal, whole),
        held=level.held,
        nominal=level.nominal,
        anchor=anchor(level),
        limit=limit_shown(level),
        text=rest,
        said=f"{level.team}: {level.held} of {level.nominal} {level.gpu_type} held, {rest}",
    )


def _rest(level: Level) -> str:
    if level.limit is not None and level.held > level.limit:
        return f"{words.count(level.held - level.limit)} over"
    may = {0: "", None: ", may borrow"}.get(level.borrow, f", may borrow {words.count(level.borrow)}")
    if level.borrowed:
        of = "" if level.borrow is None else f" of at most {words.count(level.borrow)}"
        return f"{words.count(level.borrowed)} borrowed{of}"
    return f"{words.count(level.left)} left{may}" if level.left else f"all of it held{may}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.4g}%"


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
