"""Many numbers in a few: mean, percentiles, largest."""

from collections.abc import Sequence
from math import ceil

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}


def spread(values: Sequence[float], *names: str) -> dict[str, float | None]:
    """The figures of these names; None where there is nothing to count."""
    ordered = sorted(values)
    return {name: _figure(ordered, name) for name in names}


def median(values: Sequence[float]) -> float | None:
    """The one in the middle, or the lower of the two there."""
    return at(sorted(values), 0.5)


def mean(values: Sequence[float]) -> float | None:
    """The sum over the count."""
    return sum(values) / len(values) if values else None


def at(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share of all is not above: one that really occurred."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def _figure(ordered: Sequence[float], name: str) -> float | None:
    return mean(ordered) if name == "mean" else at(ordered, PERCENTILES[name])
