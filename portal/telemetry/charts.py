"""Readings to small multiples: one little chart per GPU, all on one scale, and their table twin. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from portal import words
from portal.telemetry.queries import Mean

STEP = timedelta(seconds=30)
STEPS = 120
MINUTES = 5  # of a row of the table twin


@dataclass(frozen=True, slots=True)
class Measure:
    """One of the things a GPU tells about itself."""

    key: str  # in the address
    word: str
    field: str
    unit: str
    top: float = 100.0  # of the scale; more only where something was higher

    def write(self, value: float | None) -> str:
        if value is None:
            return ""
        if self.unit == "GB":
            return words.memory(round(value))
        return words.unit(round(value), self.unit)


MEASURES = {
    one.key: one
    for one in (
        Measure("activity", "Activity", "util", "%"),
        Measure("memory", "Memory", "memory_used_mib", "GB", 8 * 1024),
        Measure("temperature", "Temperature", "temp_c", "°C"),
        Measure("power", "Power", "power_w", "W", 100),
    )
}


@dataclass(frozen=True, slots=True)
class Multiple:
    """The chart of one GPU: paths on a square of 100, and what they say in words."""

    gpu: int
    slot: int
    line: str
    area: str
    said: str


def hour(now: datetime) -> datetime:
    """The begin of the last hour, on a full step: then a chart only changes once a step."""
    seconds = STEP.seconds
    return now.replace(second=now.second // seconds * seconds, microsecond=0) - (STEPS - 1) * STEP


def scale(rows: Iterable[Mean], measure: Measure, least: float = 0.0) -> float:
    """The top of the common scale: one that fits all, in round numbers."""
    most = max((value for row in rows if (value := _value(row, measure)) is not None), default=0.0)
    top = max(measure.top, least)
    return top if most <= top else float(-(-most // 100) * 100)


def multiples(
    rows: Sequence[Mean], slots: Mapping[int, int], measure: Measure, *, begin: datetime, top: float
) -> list[Multiple]:
    """One chart per GPU of `slots` (id to slot); a stretch without readings is a gap, never zero."""
    return [
        _multiple(gpu, slot, [row for row in rows if row.gpu == gpu], measure, begin=begin, top=top)
        for gpu, slot in slots.items()
    ]


def _multiple(
    gpu: int, slot: int, rows: list[Mean], measure: Measure, *, begin: datetime, top: float
) -> Multiple:
    points = [
        (int((row.at - begin) / STEP), value) for row in rows if (value := _value(row, measure)) is not None
    ]
    stretches = _stretches([(step, 100 - 100 * value / top) for step, value in points])
    return Multiple(
        gpu=gpu,
        slot=slot,
        line=" ".join("M" + _path(stretch) for stretch in stretches),
        area=" ".join(_area(stretch) for stretch in stretches),
        said=_said(slot, measure, [value for _, value in points]),
    )


def _said(slot: int, measure: Measure, values: list[float]) -> str:
    what = measure.word.lower()
    if not values:
        return f"GPU {slot}: no {what} readings in the last hour"
    low, high = measure.write(min(values)), measure.write(max(values))
    return f"GPU {slot}: {what} over the last hour from {low} to {high}, at last {measure.write(values[-1])}"


def _stretches(points: list[tuple[int, float]]) -> list[list[tuple[float, float]]]:
    """Cut where a step is missing; places across are percent."""
    found: list[list[tuple[float, float]]] = []
    before = -2
    for step, height in points:
        if step != before + 1:
            found.append([])
        found[-1].append((100 * step / (STEPS - 1), height))
        before = step
    # One point alone becomes a short dash, or nobody would see it.
    return [each if len(each) > 1 else [*each, (each[0][0] + 1, each[0][1])] for each in found]


def _path(stretch: list[tuple[float, float]]) -> str:
    return " ".join(f"{across:.4g} {down:.4g}" for across, down in stretch)


def _area(stretch: list[tuple[float, float]]) -> str:
    return f"M{stretch[0][0]:.4g} 100 {_path(stretch)} {stretch[-1][0]:.4g} 100z"


@dataclass(frozen=True, slots=True)
class Row:
    """Five minutes of the table twin: one value per GPU."""

    at: datetime
    values: list[str]


def table(rows: Sequence[Mean], gpus: Iterable[int], measure: Measure) -> list[Row]:
    """The same figures to read, newest first."""
    found: dict[datetime, dict[int, list[float]]] = {}
    for row in rows:
        value = _value(row, measure)
        if value is not None:
            begin = row.at.replace(minute=row.at.minute // MINUTES * MINUTES, second=0)
            found.setdefault(begin, {}).setdefault(row.gpu, []).append(value)
    columns = list(gpus)
    return [
        Row(at, [measure.write(fmean(means[gpu])) if gpu in means else "" for gpu in columns])
        for at, means in sorted(found.items(), reverse=True)
    ]


def _value(row: Mean, measure: Measure) -> float | None:
    value: float | None = getattr(row, measure.field)
    return value
