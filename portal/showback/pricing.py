"""Money from GPU time: whole milliseconds times whole micro-units, divided only for display."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

MS_PER_HOUR = 3_600_000
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A GPU of a type, held from here to there (half-open)."""

    gpu_type: str
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Bill:
    """GPU time in milliseconds, and money in micro-units times milliseconds per hour."""

    gpu_ms: int = 0
    micro_ms: int = 0  # divide by MS_PER_HOUR for micro-units
    unpriced_ms: int = 0  # GPU time of types that had no rate then

    @property
    def gpu_hours(self) -> float:
        return self.gpu_ms / MS_PER_HOUR

    @property
    def micros(self) -> int:
        """Micro-units of the currency, rounded half up, for showing."""
        return (2 * self.micro_ms + MS_PER_HOUR) // (2 * MS_PER_HOUR)


# For each type: (valid from, micro-units per hour), oldest first.
Rates = Mapping[str, Sequence[tuple[datetime, int]]]


def bill(spans: Iterable[Span], rates: Rates) -> Bill:
    """What these spans cost; a span that crosses a change of rate is split there."""
    gpu_ms = micro_ms = unpriced_ms = 0
    for span in spans:
        for begin, end, micros in _pieces(span, rates.get(span.gpu_type, ())):
            ms = ms_between(begin, end)
            gpu_ms += ms
            if micros is None:
                unpriced_ms += ms
            else:
                micro_ms += ms * micros
    return Bill(gpu_ms, micro_ms, unpriced_ms)


def ms_between(begin: datetime, end: datetime) -> int:
    """Whole milliseconds, cut on the clock's own millisecond marks so that pieces add up to the whole."""
    zero = datetime.min.replace(tzinfo=begin.tzinfo)
    return (end - zero) // _MS - (begin - zero) // _MS


def _pieces(
    span: Span, changes: Sequence[tuple[datetime, int]]
) -> Iterable[tuple[datetime, datetime, int | None]]:
    edges = [(span.begin, None), *changes, (span.end, None)]
    for (since, micros), (until, _) in pairwise(edges):
        begin, end = max(span.begin, since), min(span.end, until)
        if begin < end:
            yield begin, end, micros
