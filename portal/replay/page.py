"""The comparison as one page that stands alone: styles, script and figures inside, nothing fetched."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from plotly.offline import get_plotlyjs

from portal import words
from portal.replay import charts, fairness, gantt, markup, said
from portal.replay.charts import Played
from portal.replay.groups import BY_PERSON, BY_TEAM, BY_TIER, telling
from portal.replay.markup import Cell
from portal.replay.rows import ROWS, Report, lasting, share

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent.parent / "static"
PARTS = 12  # of the whole time, in the table of what was held
Figures = dict[str, Any]
WAITS = {"mean": "Mean", "p50": "Half", "p90": "9 of 10", "p99": "99 of 100", "max": "Longest"}


class Compared(NamedTuple):
    """The replays of one page."""

    reports: Mapping[str, Report]
    replays: Mapping[str, Played]

    @property
    def names(self) -> list[str]:
        """The policies, in their order."""
        return list(self.reports)


def page(reports: Mapping[str, Report], replays: Mapping[str, Played], about: str) -> str:
    """The answer first, then the table, then a picture for each question with its figures beside it."""
    seen, figures = Compared(reports, replays), Figures()
    cards = [
        _figures(seen),
        _waits(seen, figures),
        _use(seen, figures),
        _fairness(seen, figures),
        _gantt(seen, figures),
    ]
    return Template((HERE / "page.html").read_text("utf-8")).substitute(
        title=escape(words.listed(seen.names, most=9)),
        about=escape(about),
        answer=escape(said.answer(reports)),
        styles="\n".join((STATIC / name).read_text("utf-8") for name in ("tokens.css", "berth.css")),
        cards="\n".join(cards),
        plotly=get_plotlyjs(),
        figures="\n".join(markup.embedded(name, figure) for name, figure in figures.items()),
        script=(HERE / "page.js").read_text("utf-8"),
    )


def _figures(seen: Compared) -> str:
    rows: list[list[str | Cell]] = []
    for row in ROWS:
        best = row.best(seen.reports)
        rows.append([row.title, *(Cell(row.cell(of), name in best) for name, of in seen.reports.items())])
    return markup.card("figures", "The figures", "", markup.table(["Figure", *seen.names], rows))


def _waits(seen: Compared, figures: Figures) -> str:
    title, shown = "How long jobs wait, by tier", charts.tiers(seen.replays)
    if not shown:
        return markup.card(
            "waits", title, "", markup.nothing("No job started", "So none has waited for a start.")
        )
    figures |= {f"waits-{tier}": charts.waits(seen.replays, tier) for tier in shown}
    pictures = "".join(markup.chart(f"waits-{tier}", tier) for tier in shown)
    rows = [
        [f"{tier}, {name}", *(lasting(report["wait_s"]["by_tier"].get(tier, {}).get(key)) for key in WAITS)]
        for tier in shown
        for name, report in seen.reports.items()
    ]
    twin = markup.fold(markup.table(["Tier and policy", *WAITS.values()], rows))
    body = f'{markup.lines_key(seen.names)}<div class="columns">{pictures}</div>{twin}'
    return markup.card("waits", title, said.waits(seen.reports), body)


def _use(seen: Compared, figures: Figures) -> str:
    title, (begin, end) = "How much of the cluster is held", charts.whole_span(seen.replays)
    if not any(played.series.stays for played in seen.replays.values()):
        return markup.card(
            "use", title, "", markup.nothing("Nothing ran", "Every GPU was free all the time.")
        )
    figures["use"] = charts.use(seen.replays)
    columns = {name: played.series.use(begin, end, PARTS) for name, played in seen.replays.items()}
    edges = next(iter(columns.values()))[0]
    rows = [
        [
            f"from {words.duration(float(edge) - begin)}",
            *(
                share(float(held[at]) / max(1, seen.replays[name].site.total))
                for name, (_, held) in columns.items()
            ),
        ]
        for at, edge in enumerate(edges)
    ]
    twin = markup.fold(markup.table(["Since the first submission", *seen.names], rows))
    body = f"{markup.lines_key(seen.names)}{markup.chart('use', label=title)}{twin}"
    return markup.card("use", title, said.use(seen.reports), body)


def _fairness(seen: Compared, figures: Figures) -> str:
    asks = [tale.ask for tale in next(iter(seen.replays.values())).score.tales.values()]
    grouping = telling(asks, BY_TEAM, BY_PERSON)
    title = f"How evenly {grouping.plural} are treated"
    fair = {
        name: fairness.treated(played.score.tales.values(), grouping) for name, played in seen.replays.items()
    }
    if not any(fair.values()):
        return markup.card(
            "fairness", title, "", markup.nothing("No job finished", "So there is nothing to compare.")
        )
    figures["fairness"] = charts.fairness(fair)
    rows = [
        [
            f"{one.name}, {name}",
            *(words.count(one.jobs), words.count(one.gpu_h)),
            *(words.duration(one.wait_s), f"{words.decimal(one.stretch, 2)}{words.NBSP}×"),
        ]
        for name, treated in fair.items()
        for one in treated
    ]
    heads = ["Group and policy", "Jobs finished", "GPU-h of work", "Mean delay", "Stretch"]
    twin = markup.fold(markup.table(heads, sorted(rows)))
    body = f"{markup.marks_key(seen.names)}{markup.chart('fairness', label=title)}{twin}"
    return markup.card("fairness", title, said.fairness(fair, grouping.plural), body)


def _gantt(seen: Compared, figures: Figures) -> str:
    title, span = "Who held what when, by rack", charts.whole_span(seen.replays)
    first = next(iter(seen.replays.values()))
    if not any(played.series.stays for played in seen.replays.values()):
        return markup.card("gantt", title, "", markup.nothing("Nothing ran", "No GPU was held by anybody."))
    coloured = telling([tale.ask for tale in first.score.tales.values()], BY_TIER, BY_TEAM)
    names = gantt.groups(seen.replays, coloured)
    for at, played in enumerate(seen.replays.values()):
        figures[f"gantt-{at}"] = gantt.gantt(played, coloured, names, span)
    pictures = "".join(markup.chart(f"gantt-{at}", name) for at, name in enumerate(seen.names))
    outs = any(played.series.outs(span[1]) for played in seen.replays.values())
    body = f"{markup.colours_key(names, out_of_use=outs)}{pictures}{markup.fold(_racks(seen), 'How much of each rack was held, as a table')}"
    return markup.card("gantt", title, said.gantt(seen.replays), body)


def _racks(seen: Compared) -> str:
    """How much of each rack was held from the first submission to the last finish, by policy."""
    columns = {name: gantt.held(played) for name, played in seen.replays.items()}
    racks = list(next(iter(columns.values())))
    rows = [[rack, *(share(column[rack]) for column in columns.values())] for rack in racks]
    return markup.table(["Held of rack", *seen.names], rows)
