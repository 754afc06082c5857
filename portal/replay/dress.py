"""The look that all charts of a comparison share: paper, ink and lines by the tokens, and colours that stay apart."""

from typing import Any, NamedTuple

import plotly.graph_objects as go

APART = (1, 2, 4, 5, 3, 6, 7)  # the tokens' kinds, those first that differ the most
COLOURS = len(APART)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")  # patterns before colours
SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up", "star")
HOUR, DAY = 3600.0, 86400.0


class Axis(NamedTuple):
    """A unit of time that suits a span, and what the axis is called."""

    second: float  # how much of the unit a second is
    title: str


def since_submission(span_s: float) -> Axis:
    """Hours for up to three days, days for more."""
    unit, word = (HOUR, "hours") if span_s <= 3 * DAY else (DAY, "days")
    return Axis(1.0 / unit, f"{word} since the first submission")


def number(at: int) -> int:
    """The kind that tells the n-th of several things from the others."""
    return APART[at % COLOURS]


def colour(at: int) -> str:
    """The same as a colour."""
    return f"var(--kind-{number(at)})"


def line(at: int) -> dict[str, Any]:
    """A line for the n-th of several replays."""
    return {"color": colour(at), "width": 2, "dash": DASHES[at % len(DASHES)], "shape": "hv"}


def dressed(figure: go.Figure, height: int, *, zooms: bool = False) -> go.Figure:
    """No legend: the page has a key in words above its charts. Time axes may zoom, by buttons."""
    axis = {
        "gridcolor": "var(--line)",
        "linecolor": "var(--line-2)",
        "zeroline": False,
        "automargin": True,
        "tickangle": 0,
        "title": {"standoff": 8, "font": {"size": 12}},
        "fixedrange": True,
    }
    figure.update_layout(
        template="none",
        height=height,
        showlegend=False,
        dragmode=False,  # a finger that scrolls the page must not be caught by a chart
        margin={"l": 8, "r": 12, "t": 10, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "var(--ink-2)", "size": 12},
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": "var(--ink-3)",
            "activecolor": "var(--ink)",
        },
        hoverlabel={
            "bgcolor": "var(--raised)",
            "bordercolor": "var(--line-2)",
            "font": {"color": "var(--ink)"},
        },
    )
    figure.update_xaxes(axis | {"fixedrange": not zooms})
    figure.update_yaxes(axis)
    return figure
