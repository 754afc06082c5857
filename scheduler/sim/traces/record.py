"""What every trace comes to: jobs in the order they came, from second 0 on, and what had to be left out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.cells import shown
from scheduler.sim.workload import Ask


@dataclass(frozen=True, slots=True)
class Record:
    """The jobs of a trace, and how many were left out for which reason."""

    asks: tuple[Ask, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def sifted(asks: Iterable[Ask | str], since: float | None = None, until: float | None = None) -> Record:
    """A record of these jobs; a string stands for a job that is left out, and says why."""
    kept: dict[str, Ask] = {}
    left_out: Counter[str] = Counter()
    for ask in asks:
        if isinstance(ask, str):
            left_out[ask] += 1
        elif (since is not None and ask.submit_s < since) or (until is not None and ask.submit_s >= until):
            left_out["submitted outside the window"] += 1
        elif ask.job in kept:
            left_out["with an id that was there before"] += 1
        else:
            kept[ask.job] = ask
    # Stable: jobs of one moment stay in the file's order.
    ordered = sorted(kept.values(), key=lambda ask: ask.submit_s)
    if ordered and (first := ordered[0].submit_s):
        ordered = [replace(ask, submit_s=ask.submit_s - first) for ask in ordered]
    return Record(tuple(ordered), dict(left_out))


def moment(cell: str) -> float:
    """`2020-06-09 18:41:01` as seconds; traces name no time zone, and only differences count."""
    try:
        return datetime.fromisoformat(cell).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise Wrong(f"{shown(cell)} is no date and time; write it as 2020-06-09 18:41:01") from None
