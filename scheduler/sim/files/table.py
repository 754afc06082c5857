"""A CSV file as rows of named cells, each with the line it stands in."""

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from scheduler.sim.files.bad import BadFile, Wrong

Columns = Mapping[str, Callable[[str], object]]  # how each known column is read
Values = dict[str, Any]
T = TypeVar("T")


def entries(
    text: str, name: str, make: Callable[[Values, int], T], *, columns: Columns, needed: Collection[str]
) -> Iterator[T]:
    """What `make` makes of each row's values, by column, and its line; what it refuses gets its place."""
    for line, cells in rows(text, name, known=columns, needed=needed):
        try:
            yield make(_values(cells, columns, needed), line)
        except Wrong as why:
            raise BadFile(name, line, why.column, str(why)) from why


def _values(cells: dict[str, str], columns: Columns, needed: Collection[str]) -> Values:
    values: Values = {}
    for column, cell in cells.items():
        try:
            values[column] = columns[column](cell)
        except Wrong as why:
            raise Wrong(str(why), column) from why
    for column in needed:
        if column not in values:
            raise Wrong("the cell is blank, and it has no default; fill it in", column)
    return values


def rows(
    text: str, name: str, *, known: Collection[str], needed: Collection[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells of each row; unknown columns are ignored, and so are blank cells and lines."""
    listed = _listed(text, name)
    line, header = next(listed, (1, []))
    titles = [title.strip() for title in header]
    columns = _columns(titles, known, name, line)
    if len(titles) == 1 < len(needed) and (";" in titles[0] or "\t" in titles[0]):
        raise BadFile(name, line, 1, "the header is one cell; put commas between the columns")
    if missing := [column for column in needed if column not in columns]:
        sentence = f"the header has no such column; it needs {', '.join(needed)}"
        raise BadFile(name, line, missing[0], sentence)
    wanted = list(columns.items())
    for line, cells in listed:
        if len(cells) > len(titles) and any(cell.strip() for cell in cells[len(titles) :]):
            sentence = (
                f"the row has {len(cells)} cells under {len(titles)} columns; quote cells that hold a comma"
            )
            raise BadFile(name, line, len(titles) + 1, sentence)
        width = len(cells)
        given = {title: cell for title, at in wanted if at < width and (cell := cells[at].strip())}
        if given:
            yield line, given


def _listed(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Every line that holds something, with its number; a quoted cell may span several."""
    # strict: without it a quote that is never closed swallows the rest of the file.
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as why:
        sentence = f"the row cannot be read ({why}); close every quote, and write a quote inside quotes twice"
        raise BadFile(name, line, 1, sentence) from why


def _columns(titles: list[str], known: Collection[str], name: str, line: int) -> dict[str, int]:
    """Where each known column stands."""
    if not any(titles):
        raise BadFile(name, line, 1, f"the first line must name the columns, such as {next(iter(known))}")
    found: dict[str, int] = {}
    for at, title in enumerate(titles):
        if title in found:
            raise BadFile(name, line, title, "the header names this column twice; take one of them out")
        if title in known:
            found[title] = at
    return found
