"""Which kinds of jobs a comparison tells apart: by tier, team or person where there are several, else by size."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scheduler.core.model import Tier
from scheduler.sim.workload import Ask

SIZES = {1: "1 GPU", 8: "2 to 8 GPUs", 64: "9 to 64 GPUs"}
LARGE = "over 64 GPUs"
TIERS = tuple(tier.word for tier in sorted(Tier, reverse=True))


@dataclass(frozen=True, slots=True)
class Grouping:
    """What a group is called, and which one a job belongs to."""

    plural: str
    of: Callable[[Ask], str]
    order: tuple[str, ...] = ()  # where the names have an order of their own


BY_TIER = Grouping("tiers", lambda ask: ask.tier.word, TIERS)
BY_TEAM = Grouping("teams", lambda ask: ask.team)
BY_PERSON = Grouping("people", lambda ask: ask.user)
BY_SIZE = Grouping("sizes", lambda ask: _size(ask.gpus), (*SIZES.values(), LARGE))


def telling(asks: Iterable[Ask], *wanted: Grouping) -> Grouping:
    """The first of these that tells some jobs from others; else the size of jobs, which always can."""
    known = list(asks)
    return next((each for each in wanted if len({each.of(ask) for ask in known}) > 1), BY_SIZE)


def _size(gpus: int) -> str:
    return next((name for most, name in SIZES.items() if gpus <= most), LARGE)
