"""The policy as figures: every number an administrator may turn, its default, and what it may be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from json import dumps
from math import inf, isfinite
from typing import Any

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
TIERS = ("production", "standard", "opportunistic")
NAMES = ("default", "fifo", "easy")


class BadPolicy(ValueError):
    """A figure that cannot be: which field, and what to write instead."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}")
        self.field = field
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Peak:
    """Hours in which jobs of a size and above must wait: expensive shapes outside the rush."""

    from_hour: int  # of the day in UTC; until_hour may lie past midnight, before from_hour
    until_hour: int
    gpus: int  # jobs asking for so many or more
    tiers: tuple[str, ...] = ("standard", "opportunistic")
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4)  # Monday is 0

    def covers(self, moment: float) -> bool:
        """Whether it holds at this moment, in seconds since 1970."""
        day, second = divmod(moment, DAY)
        weekday = (int(day) + 3) % 7  # 1970 began on a Thursday
        hour = second / HOUR
        if self.from_hour < self.until_hour:
            return weekday in self.weekdays and self.from_hour <= hour < self.until_hour
        if hour >= self.from_hour:
            return weekday in self.weekdays
        return hour < self.until_hour and (weekday - 1) % 7 in self.weekdays


def _by_tier(production: float, standard: float, opportunistic: float) -> Mapping[str, float]:
    return dict(zip(TIERS, (production, standard, opportunistic), strict=True))


@dataclass(frozen=True, slots=True)
class Policy:
    """What the pages repeat in words. Times are seconds; `inf` stands for no limit and is null in JSON."""

    name: str = "default"
    # order
    half_life_s: float = 7 * DAY
    entry_penalty_s: float = HOUR  # a start counts at once as if it had run so long: nobody floods
    # stops
    min_runtime_s: Mapping[str, float] = field(default_factory=lambda: _by_tier(0.0, 600.0, 300.0))
    grace_s: float = 120.0
    max_preemptions_per_day: int = 3  # of one job, whatever the rule
    max_user_stops_per_day: int = 24  # unless a promise would break
    max_stops_per_cycle: int = 64  # unless one place alone needs more
    max_recalls: int = 3  # of one job, ever; then it is immune
    recall_after_s: float = HOUR / 2  # what ran so long may be recalled before an older job is due,
    recall_worth: float = 1.0  # when the wait of those who gain is so many times the harm
    return_promise_s: float = HOUR  # lent capacity is back within this, or it is not lent
    # time
    cycle_s: float = 30.0
    reservation_depth: int = 8
    backfill_depth: int = 10_000
    protect_after_s: float = 56 * HOUR  # age that earns a protected reservation
    protect_again_s: float = 112 * HOUR  # the same after a stop for others, counted from there
    guard_share: float = 0.75  # from this share of that age on, nothing long starts in its way
    # places
    relax_after_s: float = 0.0  # how long a preferred topology is waited for
    production_pools: tuple[str, ...] = ()
    sharing_pools: tuple[str, ...] = ()
    spare_nodes: int = 0  # of each GPU type, kept free for gangs that lose a node
    # limits
    max_duration_s: Mapping[str, float] = field(default_factory=lambda: _by_tier(inf, inf, inf))
    max_jobs_per_user: Mapping[str, float] = field(default_factory=lambda: _by_tier(inf, inf, inf))
    peaks: tuple[Peak, ...] = ()
    # defragmentation
    moves_per_hour: int = 8
    move_safety: float = 2.0
    # effort
    search_steps: int = 200_000_000

    @staticmethod
    def of(given: Mapping[str, object]) -> "Policy":
        """A policy from plain JSON values; what is missing keeps its default."""
        known = {each.name: each for each in fields(Policy)}
        for name in given:
            if name not in known:
                raise BadPolicy(name, f"there is no such field; the fields are {', '.join(known)}")
        return replace(Policy(), **{name: _READ[name](name, value) for name, value in given.items()})

    def plain(self) -> dict[str, object]:
        """The same as JSON values: `Policy.of(policy.plain()) == policy`."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(Policy)}


def _plain(value: object) -> object:
    if isinstance(value, Peak):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(Peak)}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return None if value == inf else value


def _written(value: object) -> str:
    """As it stands in the file."""
    return repr(value) if isinstance(value, str) else dumps(value, default=str)


def _name(field: str, value: object) -> str:
    if value not in NAMES:
        raise BadPolicy(field, f"{_written(value)} is no policy; write one of {', '.join(NAMES)}")
    return str(value)


def _seconds(field: str, value: object) -> float:
    return _number(field, value, least=0.0)


def _number(field: str, value: object, *, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < least:
        raise BadPolicy(field, f"{_written(value)} is not a number of at least {least:g}")
    return float(value)


def _share(field: str, value: object) -> float:
    if _seconds(field, value) > 1.0:
        raise BadPolicy(field, f"{_written(value)} is not a share between 0 and 1")
    return _seconds(field, value)


def _above_zero(field: str, value: object) -> float:
    if _seconds(field, value) == 0.0:
        raise BadPolicy(field, "must be above 0")
    return _seconds(field, value)


def _count(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadPolicy(field, f"{_written(value)} is not a whole number of at least 0")
    return value


def _names(field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise BadPolicy(field, "must be a list of names")
    return tuple(value)


def _each_tier(field: str, value: object, *, unlimited: bool) -> Mapping[str, float]:
    """One number for all tiers, or one for each named tier; the others keep their default."""
    if not isinstance(value, Mapping):
        value = dict.fromkeys(TIERS, value)
    if strange := [name for name in value if name not in TIERS]:
        raise BadPolicy(field, f"{_written(strange[0])} is no tier; the tiers are {', '.join(TIERS)}")
    told = {
        tier: inf if unlimited and number is None else _number(f"{field}.{tier}", number, least=0.0)
        for tier, number in value.items()
    }
    return {**getattr(Policy(), field), **told}


def _tiers(field: str, value: object) -> Mapping[str, float]:
    return _each_tier(field, value, unlimited=False)


def _tier_caps(field: str, value: object) -> Mapping[str, float]:
    return _each_tier(field, value, unlimited=True)


def _peaks(field: str, value: object) -> tuple[Peak, ...]:
    if not isinstance(value, list | tuple):
        raise BadPolicy(field, "must be a list of peaks, each with from_hour, until_hour and gpus")
    return tuple(_peak(f"{field}[{number}]", each) for number, each in enumerate(value))


def _peak(field: str, value: object) -> Peak:
    if not isinstance(value, Mapping) or not {"from_hour", "until_hour", "gpus"} <= set(value):
        raise BadPolicy(field, "a peak needs from_hour, until_hour and gpus")
    if strange := set(value) - {each.name for each in fields(Peak)}:
        raise BadPolicy(f"{field}.{min(strange)}", "there is no such field of a peak")
    hours = {name: _count(f"{field}.{name}", value[name]) for name in ("from_hour", "until_hour")}
    if max(hours.values()) > 24:
        raise BadPolicy(field, "an hour of the day lies between 0 and 24")
    tiers = _names(f"{field}.tiers", value.get("tiers", Peak.__dataclass_fields__["tiers"].default))
    days = value.get("weekdays", Peak.__dataclass_fields__["weekdays"].default)
    if not isinstance(days, list | tuple) or not all(type(day) is int and day in range(7) for day in days):
        raise BadPolicy(f"{field}.weekdays", "must be a list of days from 0 (Monday) to 6 (Sunday)")
    if set(tiers) - set(TIERS):
        raise BadPolicy(f"{field}.tiers", f"the tiers are {', '.join(TIERS)}")
    return Peak(
        hours["from_hour"], hours["until_hour"], _count(f"{field}.gpus", value["gpus"]), tiers, tuple(days)
    )


# Any: each reader returns what its field holds, and the dataclass has the last word.
_READ: Mapping[str, Callable[[str, object], Any]] = {
    "name": _name,
    "half_life_s": _above_zero,
    "entry_penalty_s": _seconds,
    "min_runtime_s": _tiers,
    "grace_s": _seconds,
    "max_preemptions_per_day": _count,
    "max_user_stops_per_day": _count,
    "max_stops_per_cycle": _count,
    "max_recalls": _count,
    "recall_after_s": _seconds,
    "recall_worth": _seconds,
    "return_promise_s": _seconds,
    "cycle_s": _above_zero,
    "reservation_depth": _count,
    "backfill_depth": _count,
    "protect_after_s": _seconds,
    "protect_again_s": _seconds,
    "guard_share": _share,
    "relax_after_s": _seconds,
    "production_pools": _names,
    "sharing_pools": _names,
    "spare_nodes": _count,
    "max_duration_s": _tier_caps,
    "max_jobs_per_user": _tier_caps,
    "peaks": _peaks,
    "moves_per_hour": _count,
    "move_safety": _seconds,
    "search_steps": _count,
}
