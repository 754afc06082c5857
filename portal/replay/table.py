"""The figures of one replay, or of several side by side, as a table for the terminal."""

from collections.abc import Mapping, Sequence

from portal.replay.rows import ROWS, Report, Row

MARK = "*"
LEGEND = f"{MARK} better than the others"


def table(reports: Mapping[str, Report]) -> str:
    """One column for each replay, under its name; of several the better value is marked."""
    lines = [["", *(_cell(name, marked=False, beside=_several(reports)) for name in reports)]]
    lines += [[row.title, *_cells(row, reports)] for row in ROWS]
    marked = any(row.best(reports) for row in ROWS)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    drawn = [
        "  ".join([f"{first:<{widths[0]}}", *_right(rest, widths[1:])]).rstrip() for first, *rest in lines
    ]
    return "\n".join([*drawn, *([LEGEND] if marked else [])])


def _cells(row: Row, reports: Mapping[str, Report]) -> list[str]:
    best = row.best(reports)
    return [
        _cell(row.cell(report), marked=name in best, beside=_several(reports))
        for name, report in reports.items()
    ]


def _cell(text: str, *, marked: bool, beside: bool) -> str:
    """With room for the mark, so that marked figures stand under the others."""
    return f"{text}{MARK if marked else ' '}" if beside else text


def _several(reports: Mapping[str, Report]) -> bool:
    return len(reports) > 1


def _right(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
