"""Who held which part of which rack when, as a figure: a bar lies where its GPUs are."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape  # plotly reads a few tags in its texts
from typing import NamedTuple

import plotly.graph_objects as go

from portal import words
from portal.replay.charts import Played
from portal.replay.dress import COLOURS, Axis, colour, dressed, since_submission
from portal.replay.fairness import OTHERS
from portal.replay.groups import Grouping
from portal.replay.series import Stay
from scheduler.sim.events import Place
from scheduler.sim.site import Site

FEW_LANES = 150  # with more of them an edge around a bar would hide it
MOST_RACKS = 40  # names on the axis
NEAR = 1e-9


class Rack(NamedTuple):
    """A rack on the axis: its name, and its lanes from and to."""

    name: str
    first: int
    end: int


def groups(replays: Mapping[str, Played], grouping: Grouping) -> list[str]:
    """At most seven, as many as there are colours: those that hold the most first, the rest together as the last."""
    held: dict[str, float] = {}
    for played in replays.values():
        for stay in played.series.largest():
            name = grouping.of(played.score.tales[stay.job].ask)
            held[name] = held.get(name, 0.0) + stay.gpus * (stay.end - stay.begin)
    if grouping.order:
        return [name for name in grouping.order if name in held]
    ranked = sorted(held, key=lambda name: (-held[name], name))
    return ranked if len(ranked) <= COLOURS else [*ranked[: COLOURS - 1], OTHERS]


def gantt(played: Played, grouping: Grouping, names: list[str], span: tuple[float, float]) -> go.Figure:
    """The largest runs, coloured by group, and what was out of use."""
    lanes = _lanes(played.site)
    begin, end = span
    axis = since_submission(end - begin)
    figure = go.Figure()
    sorted_out: dict[str, list[Stay]] = {name: [] for name in names}
    for stay in played.series.largest():
        name = grouping.of(played.score.tales[stay.job].ask)
        sorted_out[name if name in sorted_out else OTHERS].append(stay)
    for at, stays in enumerate(sorted_out.values()):
        bars = [
            (stay.begin, stay.end, low, height, _said(stay))
            for stay in stays
            for low, height in blocks(stay.places, lanes, played.site)
        ]
        edge = 0.5 if len(lanes) <= FEW_LANES else 0.0
        look = {"color": colour(at), "line": {"color": "var(--surface)", "width": edge}}
        _add(figure, bars, begin, axis=axis, look=look)
    _add(figure, list(_outs(played, lanes, end)), begin, axis=axis, look=OUT_OF_USE)
    found = racks(played.site)
    shown = found[:: -(-len(found) // MOST_RACKS)]
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title=axis.title, range=[0, (end - begin) * axis.second or 1])
    figure.update_yaxes(
        tickvals=[(rack.first + rack.end) / 2 for rack in shown],
        ticktext=[escape(rack.name, quote=False) for rack in shown],
        range=[len(lanes), 0],
        showgrid=False,
    )
    for rack in found[1:] if len(found) <= MOST_RACKS else ():
        figure.add_hline(y=rack.first, line={"color": "var(--edge)", "width": 1})
    return dressed(figure, max(220, min(560, 90 + 14 * len(lanes))), zooms=True)


OUT_OF_USE = {
    "color": "rgba(0,0,0,0)",
    "line": {"color": "var(--edge)", "width": 1},
    "pattern": {"shape": "/", "fgcolor": "var(--edge)", "size": 6, "solidity": 0.3},
}


def racks(site: Site) -> list[Rack]:
    """In the order of the axis."""
    domains, order = site.domains["rack"].tolist(), _order(site)
    found: list[Rack] = []
    for lane, row in enumerate(order):
        if not lane or domains[row] != domains[order[lane - 1]]:
            found.append(Rack(site.machines[row].rack or "all nodes", lane, lane))
        found[-1] = found[-1]._replace(end=lane + 1)
    return found


def blocks(places: Iterable[Place], lanes: Mapping[str, int], site: Site) -> Iterator[tuple[float, float]]:
    """Where these GPUs lie on the axis of lanes, from and height: neighbours as one block."""
    cells = sorted(
        (lanes[place.node] + gpu / size, 1.0 / size)
        for place in places
        for size in (int(site.size[site.row_of[place.node]]),)
        for gpu in place.gpus
    )
    first = last = 0.0
    for low, height in cells:
        if last > first and low - last < NEAR:
            last = low + height
            continue
        if last > first:
            yield first, last - first
        first, last = low, low + height
    if last > first:
        yield first, last - first


Bar = tuple[float, float, float, float, str]  # from, to, where on the axis, how high, what it says


def _add(figure: go.Figure, bars: list[Bar], begin: float, *, axis: Axis, look: Mapping[str, object]) -> None:
    figure.add_bar(
        orientation="h",
        base=[(since - begin) * axis.second for since, _, _, _, _ in bars],
        x=[(until - since) * axis.second for since, until, _, _, _ in bars],
        y=[low + height / 2 for _, _, low, height, _ in bars],
        width=[height for _, _, _, height, _ in bars],
        text=[said for _, _, _, _, said in bars],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        marker=look,
    )


def _outs(played: Played, lanes: Mapping[str, int], end: float) -> Iterator[Bar]:
    for out in played.series.outs(end):
        size = int(played.site.size[played.site.row_of[out.node]])
        gpus = tuple(range(size)) if out.gpus is None else out.gpus
        until = min(out.end, end)
        said = f"{escape(out.node, quote=False)}: {words.many(len(gpus), 'GPU')} out of use for {words.duration(until - out.begin)}"
        for low, height in blocks((Place(out.node, gpus),), lanes, played.site):
            yield out.begin, until, low, height, said


def _lanes(site: Site) -> dict[str, int]:
    """Each node's lane, rack by rack."""
    return {site.names[row]: lane for lane, row in enumerate(_order(site))}


def _order(site: Site) -> list[int]:
    domains = site.domains["rack"].tolist()
    return sorted(range(len(site.names)), key=lambda row: (domains[row], row))


def _said(stay: Stay) -> str:
    length = words.duration(stay.end - stay.begin)
    return f"{escape(stay.job, quote=False)}, run {stay.run}: {words.many(stay.gpus, 'GPU')} for {length}"


def held(played: Played) -> dict[str, float]:
    """Which share of each rack's GPU time was held, from the first submission to the last end."""
    begin, end = played.span
    order = _order(played.site)
    shares: dict[str, float] = {}
    for rack in racks(played.site):
        rows = order[rack.first : rack.end]
        capacity = sum(int(played.site.size[row]) for row in rows) * (end - begin)
        used = sum(played.series.node_gpu_s.get(played.site.names[row], 0.0) for row in rows)
        name = (
            rack.name if rack.name not in shares else f"{rack.name} of {played.site.machines[rows[0]].block}"
        )
        shares[name] = used / capacity if capacity else 0.0
    return shares
