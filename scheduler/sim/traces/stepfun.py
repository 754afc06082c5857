"""Node faults of a StepFun cluster (InfiniteHBD, SIGCOMM 2025): which node was away from when to when, in days."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from scheduler.sim.files import cells
from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.workload import Fault

DAY = 86400.0
COLUMNS: Columns = {"node": cells.name, "start_day": cells.at_least_zero, "end_day": cells.at_least_zero}
Span = tuple[float, float]


def read_faults(
    text: str, name: str, machines: Sequence[str], *, first_day: float = 100.0, last_day: float = 125.0
) -> tuple[Fault, ...]:
    """The faults of these days, as many lowest-named nodes as there are machines, each on one of them.

    What is already broken on the first day is down at second 0; what breaks by the last day is repaired
    when it was, even after that day. Machines beyond the nodes of the file stay well.
    """
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for node, start, end in entries(text, name, _span, columns=COLUMNS, needed=COLUMNS):
        spans[node].append((start, end))
    faults: list[Fault] = []
    for node, machine in zip(sorted(spans), machines, strict=False):
        for start, end in _merged(spans[node]):
            if start < last_day and (end > first_day or end == start >= first_day):
                faults.append(Fault(_second(start, first_day), machine, "down"))
                faults.append(Fault(_second(end, first_day), machine, "up"))
    return tuple(sorted(faults, key=lambda fault: fault.t_s))


def _span(values: Values, line: int) -> tuple[str, float, float]:
    node, start, end = values["node"], values["start_day"], values["end_day"]
    if end < start:
        raise Wrong(
            f"the fault ends on day {end:g}, before it starts on day {start:g}; swap the two", "end_day"
        )
    return node, start, end


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Spans that overlap or touch, as one."""
    spans = sorted(spans)
    start, end = spans[0]
    for next_start, next_end in spans[1:]:
        if next_start > end:
            yield start, end
            start, end = next_start, next_end
        end = max(end, next_end)
    yield start, end


def _second(day: float, first_day: float) -> float:
    return round(max(day - first_day, 0.0) * DAY, 3)
