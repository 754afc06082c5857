"""How evenly a replay treated groups of jobs: stretch, and one number over all of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portal.replay.groups import Grouping
from scheduler.sim.score import Tale

SHORT_S = 600.0  # a job this short or shorter may wait as if it were this long before that counts as stretch
SHOWN = 12
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Treated:
    """One group: how much it asked for, and how its jobs were stretched."""

    name: str
    jobs: int
    gpu_h: float
    wait_s: float
    stretch: float  # mean of (wait + work) over work


def treated(tales: Iterable[Tale], grouping: Grouping) -> list[Treated]:
    """The groups in their order, or those that asked for the most GPU time and all others together.

    Only jobs that finished count.
    """
    groups = defaultdict[str, list[Tale]](list)
    for tale in tales:
        if tale.finish is not None:
            groups[grouping.of(tale.ask)].append(tale)
    ranked = sorted((_treated(name, some) for name, some in groups.items()), key=lambda t: (-t.gpu_h, t.name))
    if grouping.order:
        return sorted(ranked, key=lambda one: grouping.order.index(one.name))
    if len(ranked) <= SHOWN:
        return ranked
    rest = [tale for each in ranked[SHOWN:] for tale in groups[each.name]]
    return [*ranked[:SHOWN], _treated(OTHERS, rest)]


def evenness(groups: Iterable[Treated]) -> float | None:
    """Jain's index over the groups' mean stretches: 1 when all are stretched alike, 1/n when one bears it all."""
    over = [each.stretch for each in groups]
    return sum(over) ** 2 / (len(over) * sum(value**2 for value in over)) if over else None


def worst(replays: Mapping[str, list[Treated]]) -> dict[str, Treated]:
    """For each replay the group that was stretched the most."""
    return {name: max(each, key=lambda one: one.stretch) for name, each in replays.items() if each}


def _treated(name: str, tales: list[Tale]) -> Treated:
    waits = [(tale.finish or 0.0) - tale.ask.submit_s - tale.ask.duration_s for tale in tales]
    lengths = [max(SHORT_S, tale.ask.duration_s) for tale in tales]
    stretch = sum(1.0 + max(0.0, wait) / length for wait, length in zip(waits, lengths, strict=True))
    work = sum(tale.ask.duration_s * tale.ask.gpus for tale in tales)
    return Treated(name, len(tales), work / 3600, sum(waits) / len(tales), stretch / len(tales))
