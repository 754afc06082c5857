"""Replays side by side as figures: rows in, plotly figures out; colours are the tokens' names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from portal import words
from portal.replay.dress import SYMBOLS, colour, dressed, line, since_submission
from portal.replay.fairness import Treated
from portal.replay.groups import TIERS
from portal.replay.series import Series
from scheduler.sim.score import Score
from scheduler.sim.site import Site

WAITS = {1: "at once", 60: "1 min", 3600: "1 h", 86400: "1 d", 864000: "10 d", 8640000: "100 d"}
STRETCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Played:
    """One replay, as the charts see it."""

    score: Score
    series: Series
    site: Site

    @property
    def span(self) -> tuple[float, float]:
        """From the first submission to the last end."""
        begin = min((tale.ask.submit_s for tale in self.score.tales.values()), default=0.0)
        return begin, max(self.series.times, default=begin)

    def waits(self, tier: str) -> list[float]:
        """Of the jobs of a tier that started, from submission to the first start."""
        tales = self.score.tales.values()
        return [
            tale.start - tale.ask.submit_s
            for tale in tales
            if tale.start is not None and tale.ask.tier.word == tier
        ]


def tiers(replays: Mapping[str, Played]) -> list[str]:
    """Those of which at least one job started."""
    return [tier for tier in TIERS if any(played.waits(tier) for played in replays.values())]


def whole_span(replays: Mapping[str, Played]) -> tuple[float, float]:
    """From the first submission to the last end of any replay."""
    spans = [played.span for played in replays.values()]
    return min(begin for begin, _ in spans), max(end for _, end in spans)


def waits(replays: Mapping[str, Played], tier: str) -> go.Figure:
    """Which share of the jobs of a tier had started after which wait."""
    figure = go.Figure()
    longest = 1.0
    for at, (name, played) in enumerate(replays.items()):
        shares = np.arange(0.0, 100.5, 0.5)
        found = np.percentile(played.waits(tier) or [0.0], shares, method="higher")
        longest = max(longest, float(found[-1]))
        figure.add_scatter(
            x=np.maximum(found, 1.0),
            y=shares,
            name=name,
            line=line(at),
            customdata=[words.duration(float(wait)) for wait in found],
            hovertemplate="%{y:.0f} % started within %{customdata}",
        )
    reach = [0.0, max(np.log10(longest) + 0.1, np.log10(3600.0))]
    ticks = {"tickvals": list(WAITS), "ticktext": list(WAITS.values())}
    figure.update_xaxes(type="log", range=reach, title="wait", **ticks)
    figure.update_yaxes(range=[0, 101], ticksuffix=" %", dtick=25, title="of jobs had started")
    return dressed(figure, 260)


def use(replays: Mapping[str, Played]) -> go.Figure:
    """Which share of the GPUs was held, over time."""
    figure = go.Figure()
    begin, end = whole_span(replays)
    axis = since_submission(end - begin)
    for at, (name, played) in enumerate(replays.items()):
        edges, held = played.series.use(begin, end)
        figure.add_scatter(
            x=(edges - begin) * axis.second,
            y=100 * held / max(1, played.site.total),
            name=name,
            line=line(at) | {"width": 1.5},
            hovertemplate="%{x:.1f}: %{y:.0f} %",
        )
    figure.update_xaxes(title=axis.title, range=[0, (end - begin) * axis.second or 1])
    figure.update_yaxes(title="of all GPUs held", range=[0, 101], ticksuffix=" %", dtick=25)
    return dressed(figure, 300, zooms=True)


def fairness(replays: Mapping[str, Sequence[Treated]]) -> go.Figure:
    """How many times longer than its work a job took, by group."""
    figure = go.Figure()
    order = [each.name for each in next(iter(replays.values()), ())][::-1]
    by_name = {name: {each.name: each for each in treated} for name, treated in replays.items()}
    for group in order:  # a hairline from the best to the worst, so that the eye keeps to its row
        marks = [found[group].stretch for found in by_name.values() if group in found]
        figure.add_scatter(
            x=[min(marks), max(marks)],
            y=[group, group],
            mode="lines",
            line={"color": "var(--line-2)", "width": 2},
            hoverinfo="skip",
        )
    for at, (name, found) in enumerate(by_name.items()):
        rows = [found[group] for group in order if group in found]
        figure.add_scatter(
            x=[each.stretch for each in rows],
            y=[each.name for each in rows],
            mode="markers",
            name=name,
            marker={"color": colour(at), "size": 11, "symbol": SYMBOLS[at % len(SYMBOLS)]},
            customdata=[f"{words.count(each.jobs)} jobs, {words.count(each.gpu_h)} GPU-h" for each in rows],
            hovertemplate="%{y}: %{x:.1f} times its work (%{customdata})",
        )
    most = max((each.stretch for treated in replays.values() for each in treated), default=1.0)
    ticks = {"tickvals": STRETCHES, "ticktext": [f"{words.count(many)} ×" for many in STRETCHES]}
    reach = [-0.03, max(np.log10(most) + 0.06, np.log10(2.0))]
    figure.update_xaxes(type="log", range=reach, title="submission to finish, in times the work", **ticks)
    figure.update_yaxes(categoryorder="array", categoryarray=order)
    return dressed(figure, 76 + 26 * max(2, len(order)))
