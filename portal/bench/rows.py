"""What a measurement hands back: rows of one table, each with its goal, and how they are printed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for; sections take from it what they understand."""

    scale: float = 1.0  # of the sizes that the goals speak of; a test measures at a hundredth
    rounds: int = 5  # how many different snapshots stand behind a percentile
    seed: int = 1
    traces: Path | None = None  # where recorded workloads lie
    whole: bool = False  # all of a recorded workload instead of some days of it


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was measured, what it should be, and how it grew against a smaller size."""

    what: str
    measured: float
    unit: str = "s"
    goal: float | None = None  # None = nothing was promised
    growth: float | None = None  # measured against the same at the next smaller size
    note: str = ""
    at_least: bool = False  # the goal is a floor; else measured should be at most this

    @property
    def ratio(self) -> float | None:
        """Goal over measured: for a ceiling, at least one means that it was met."""
        return None if self.goal is None else self.goal / max(self.measured, 1e-9)

    @property
    def missed(self) -> bool:
        """Whether a goal was set and not met."""
        if self.goal is None:
            return False
        return self.measured < self.goal if self.at_least else self.measured > self.goal


Section: TypeAlias = Callable[[Options], Iterable[Row]]

HEADINGS = ("what", "goal", "measured", "goal/measured", "growth", "")
WIDTHS = (62, 12, 12, 13, 7, 0)


def heading() -> str:
    """The names of the columns."""
    return _line(HEADINGS)


def line(row: Row) -> str:
    """One row as the table shows it."""
    goal = "" if row.goal is None else f"{'>=' if row.at_least else '<='} {_figure(row.goal)} {row.unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    growth = "" if row.growth is None else f"x {row.growth:.2f}"
    note = ", ".join(filter(None, ("MISSED" if row.missed else "", row.note)))
    return _line((row.what, goal, f"{_figure(row.measured)} {row.unit}", ratio, growth, note))


def growing(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of the same figure at growing sizes, each with its growth against the one before."""
    before: Row | None = None
    for row in rows:
        growth = None if before is None else row.measured / max(before.measured, 1e-9)
        yield replace(row, growth=growth)
        before = row


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line(cells: tuple[str, ...]) -> str:
    what, *figures, note = cells
    widths = WIDTHS[1:-1]
    aligned = (f"{cell:>{width}}" for cell, width in zip(figures, widths, strict=True))
    return "  ".join((f"{what:{WIDTHS[0]}}", *aligned, note)).rstrip()
