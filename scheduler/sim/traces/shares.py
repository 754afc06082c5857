"""How large a cluster a trace needs, and what share of it each of its teams used."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor

from scheduler.sim.workload import Ask, Crew, Share

BEYOND = 1e18  # GPUs; a load next to nothing calls for more than a number can hold


def load(asks: Sequence[Ask], gpus: int) -> float:
    """GPU-seconds asked for over those there were while jobs came in."""
    return _demand(asks) / gpus


def nodes_for(asks: Sequence[Ask], at_load: float, gpus_per_node: int = 8) -> int:
    """The fewest nodes that keep the load at or under this, and on which the largest gang can stand."""
    largest = max((ask.gpus for ask in asks), default=1)
    busy = min(_demand(asks) / at_load, BEYOND) / gpus_per_node
    return max(ceil(busy), ceil(largest / gpus_per_node))


def _demand(asks: Sequence[Ask]) -> float:
    """GPUs that would be busy on average, from the first submission to the last."""
    moments = [ask.submit_s for ask in asks]
    span = max(moments, default=0.0) - min(moments, default=0.0)
    return sum(ask.gpus * ask.duration_s for ask in asks) / span if span else 0.0


def gpu_seconds(asks: Iterable[Ask]) -> dict[str, float]:
    """What each team used, by name."""
    used: defaultdict[str, float] = defaultdict(float)
    for ask in asks:
        used[ask.team] += ask.gpus * ask.duration_s
    return dict(sorted(used.items()))


def crews(nominal: Mapping[str, int], gpu_type: str) -> tuple[Crew, ...]:
    """Teams that lend all their idle nominal and borrow without limit; they weigh what they own."""
    return tuple(
        Crew(name, weight=float(max(gpus, 1)), quota={gpu_type: Share(gpus)})
        for name, gpus in nominal.items()
    )


def split(gpus: int, by: Mapping[str, float]) -> dict[str, int]:
    """Whole GPUs in proportion, by largest remainder: they add up to all of them."""
    total = sum(by.values())
    if total <= 0:
        by, total = dict.fromkeys(by, 1.0), float(len(by))
    exact = {name: gpus * part / total for name, part in by.items()}
    whole = {name: floor(share) for name, share in exact.items()}
    rest = sorted(exact, key=lambda name: (whole[name] - exact[name], name))
    for name in rest[: gpus - sum(whole.values())]:
        whole[name] += 1
    return whole
