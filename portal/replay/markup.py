"""The pieces of the comparison's page as HTML; whatever comes from a file is escaped here."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from portal.replay.dress import DASHES, SYMBOLS, number

LINES = {
    "solid": "",
    "dash": "5 3",
    "dot": "1.5 2.5",
    "dashdot": "5 2 1.5 2",
    "longdash": "7 3",
    "longdashdot": "8 2 1.5 2",
}
SHAPES = {
    "circle": '<circle cx="10" cy="6" r="4.5"/>',
    "diamond": '<path d="M10 1l5 5-5 5-5-5z"/>',
    "square": '<path d="M6 2h8v8H6z"/>',
    "cross": '<path d="M8.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"/>',
    "triangle-up": '<path d="M10 1.5l5 9H5z"/>',
    "star": '<path d="M10 1l1.5 3.3 3.5.4-2.6 2.4.7 3.5L10 8.9l-3.1 1.7.7-3.5L5 4.7l3.5-.4z"/>',
}


class Cell(NamedTuple):
    """A figure, and whether it is better than those beside it."""

    text: str
    best: bool = False


def card(key: str, title: str, said: str, body: str) -> str:
    """One question, its answer in words, and the picture or the table."""
    told = f"<p>{escape(said)}</p>" if said else ""
    head = f'<div class="card-head"><h2 id="{key}-h">{escape(title)}</h2></div>'
    return f'<section class="card" aria-labelledby="{key}-h">{head}<div class="card-body stack">{told}{body}</div></section>'


def chart(name: str, title: str = "", label: str = "") -> str:
    """The place of a figure; with a title of its own where several share a card."""
    head = f'<h3 id="{name}-h">{escape(title)}</h3>' if title else ""
    named = f'aria-label="{escape(label)}"' if label else f'aria-labelledby="{name}-h"'
    return f'<div class="stack">{head}<div data-figure="figure-{name}" role="group" {named} tabindex="0"></div></div>'


def nothing(title: str, said: str) -> str:
    """In the place of a picture, where there is nothing to draw."""
    return f'<div class="empty"><h3>{escape(title)}</h3><p>{escape(said)}</p></div>'


def fold(body: str, title: str = "The same as a table") -> str:
    """The table twin of a picture."""
    return f'<details class="fold"><summary>{escape(title)}</summary>{body}</details>'


def table(head: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> str:
    """Figures under the names of policies; on a phone each row is a card."""
    titles = "".join(f'<th scope="col"{_num(at)}>{escape(title)}</th>' for at, title in enumerate(head))
    lines = "".join(_row(head, row) for row in rows)
    wide = " three" if len(head) == 4 else ""
    return (
        '<div class="table-wrap" role="group" tabindex="0" aria-label="Figures">'
        f'<table class="table compact cards{wide}"><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def lines_key(names: Sequence[str]) -> str:
    """Which line is whose."""
    return _key([(name, _svg(at, _line(at))) for at, name in enumerate(names)])


def marks_key(names: Sequence[str]) -> str:
    """Which mark is whose."""
    return _key(
        [
            (name, _svg(at, f'<g fill="currentColor">{SHAPES[SYMBOLS[at % len(SYMBOLS)]]}</g>'))
            for at, name in enumerate(names)
        ]
    )


def colours_key(names: Sequence[str], *, out_of_use: bool) -> str:
    """Which colour is whose, and what the stripes are."""
    told = [(name, f'<i class="swatch k k{number(at)}"></i>') for at, name in enumerate(names)]
    stripes = [("out of use", '<i class="swatch striped k k0"></i>')] if out_of_use else []
    return _key([*told, *stripes])


def embedded(name: str, figure: Any) -> str:
    """A figure inside the page; a job may be called anything, even what would end a script."""
    told = figure.to_json().replace("</", "<\\/")
    return f'<script type="application/json" id="figure-{name}">{told}</script>'


def listed(said: Mapping[str, str]) -> str:
    """`32 min with default, 54 min with easy and 6 h with fifo`; who has the same shares it."""
    same: dict[str, list[str]] = {}
    for name, text in said.items():
        same.setdefault(text, []).append(name)
    return _and([f"{text} with {_and(names)}" for text, names in same.items()])


def _and(parts: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def _row(head: Sequence[str], row: Sequence[str | Cell]) -> str:
    first, *rest = (cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
    cells = "".join(
        f'<td class="num" data-label="{escape(title)}">{_cell(cell)}</td>'
        for title, cell in zip(head[1:], rest, strict=True)
    )
    return f'<tr><th scope="row">{escape(first.text)}</th>{cells}</tr>'


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return f'<span class="says is-good">best</span> <b>{text}</b>' if cell.best else text


def _key(entries: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<li>{picture}{escape(name)}</li>" for name, picture in entries)
    return f'<ul class="key">{items}</ul>'


def _svg(at: int, inside: str) -> str:
    return f'<svg class="k{number(at)}" viewBox="0 0 20 12" aria-hidden="true">{inside}</svg>'


def _line(at: int) -> str:
    dashes = LINES[DASHES[at % len(DASHES)]]
    broken = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M0 6h20" stroke="currentColor" stroke-width="2"{broken}/>'


def _num(column: int) -> str:
    return ' class="num"' if column else ""
