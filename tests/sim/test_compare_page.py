"""The comparison for people: the table with the better value marked, and the page that stands alone."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from portal.replay import compare, said
from portal.replay.inputs import Source
from portal.replay.markup import listed
from portal.replay.rows import ROWS, Row
from portal.replay.table import LEGEND, table
from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.sim.clock import Case
from scheduler.sim.workload import Ask, Cluster, Fault
from tests.sim.stage import ask, nodes

if TYPE_CHECKING:
    from playwright.sync_api import Browser

AXE = Path(__file__).parent.parent / "fixtures" / "vendor" / "axe-core" / "axe.min.js"
EVIL = "</script><b>x"
NAMES = ("default", "easy", "fifo")
MIXED = (
    ask(EVIL, 4, 0, 4000, team="vision", tier=Tier.PRODUCTION),
    ask("b", 8, 60, 90_000, team="vision"),
    ask("c", 4, 70, 2000, team="speech & sons", limit_s=2000.0),
    ask("e", 4, 75, 500, team="speech & sons", tier=Tier.OPPORTUNISTIC, checkpoint_s=60.0),
    ask("d", 99, 80),
)
FAULTS = (
    Fault(500, "n1", "down"),
    Fault(900, "n1", "up"),
    Fault(2000, "n2", "drain", (0, 1)),
    Fault(3000, "n2", "up"),
)


def written(asks: tuple[Ask, ...], path: Path, faults: tuple[Fault, ...] = ()) -> Path:
    """The page for these jobs, and where it is."""
    case = Case(Cluster(nodes(2, rack="r1")), asks, faults)
    played = compare.play(case, {name: Policy(name=name) for name in NAMES}, drawn=True)
    path.write_text(compare.page(played, Source(case, "jobs.csv")), encoding="utf-8")
    return path


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Three policies, three tiers, two teams, faults and a job with a wicked name."""
    return written(MIXED, tmp_path / "page.html", FAULTS)


def ours(page: Path) -> str:
    """Without plotly and the styles, and with plain blanks."""
    text = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page.read_text("utf-8"), flags=re.DOTALL)
    return text.replace("\u00a0", " ")


def test_the_page_stands_alone_and_is_fooled_by_no_name(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"(?:src|href)\s*=", ours(page))
    assert EVIL not in text
    assert "speech &amp; sons" in ours(page)
    figures = re.findall(
        r'<script type="application/json" id="figure-([\w-]+)">(.*?)</script>', text, re.DOTALL
    )
    assert [name for name, _ in figures] == [
        *("waits-production", "waits-standard", "waits-opportunistic", "use", "fairness"),
        *("gantt-0", "gantt-1", "gantt-2"),
    ]
    for name, figure in figures:
        assert json.loads(figure)["data"]
        assert f'data-figure="figure-{name}"' in text, "every figure has a place"
    assert text.count("data-figure=") == len(figures), "and every place a figure"
    # Plotly reads a few tags in its texts.
    assert "&lt;/script&gt;&lt;b&gt;x, run 1: 4 GPUs" in json.dumps(
        json.loads(dict(figures)["gantt-0"]), ensure_ascii=False
    ).replace("\u00a0", " ")


def test_the_page_answers_first_and_marks_the_better_value(page: Path) -> None:
    lead = re.search(r'<p class="lead">(.*?)</p>', ours(page))
    assert lead
    assert lead[1].startswith("A job waits ")
    longest = re.search(r'<th scope="row">longest wait</th>(.*?)</tr>', ours(page))
    assert longest
    cells = dict(re.findall(r'data-label="(\w+)">(.*?)</td>', longest[1]))
    assert list(cells) == list(NAMES)
    assert "best" not in cells["fifo"]
    assert any(
        re.fullmatch(r'<span class="says is-good">best</span> <b>.*</b>', cell) for cell in cells.values()
    )


def test_a_page_about_nothing_says_so(tmp_path: Path) -> None:
    nobody = ours(written((), tmp_path / "empty.html"))
    assert "The workload has no job, so there is nothing to compare." in nobody
    assert nobody.count('class="empty"') == 4
    assert "data-figure" not in nobody
    never = ours(written((ask("d", 99),), tmp_path / "never.html"))
    assert "No job started: 0 finished, 1 impossible with default, easy and fifo." in never
    assert "best" not in never.split("<main", 1)[1]


def test_jobs_of_no_length_are_drawn_too(tmp_path: Path) -> None:
    at_once = tuple(ask(f"j{at}", 8, duration=0.0) for at in range(3))
    assert "data-figure" in ours(written(at_once, tmp_path / "short.html"))


def report(**more: Any) -> dict[str, Any]:
    """What every report has, with nothing in it."""
    waits = dict.fromkeys(("mean", "p50", "p90", "p99", "max"), 60.0)
    plain = {
        **dict.fromkeys(
            ("jobs", "finished", "limit_stops", "impossible", "unfinished", "cycles", "wall_s"), 0
        ),
        **dict.fromkeys(("preemptions", "reclaims", "recalls", "moves", "swaps", "node_losses"), 0),
        **dict.fromkeys(("utilisation", "useful_share", "fragmentation", "mix_fragmentation"), 0.5),
        "wait_s": waits,
        "jct_s": waits,
        "cycle_ms": {"p95": 1.0},
        "eta": {"by_p90": None},
        "lost_gpu_s": {"swap": 0.0},
        "largest_gang_gpus": {"cluster": None},
        "overruns": {"delayed_jobs": 0, "delayed_s": 0.0},
    }
    return plain | more


def row(title: str) -> Row:
    return next(each for each in ROWS if each.title == title)


def test_less_is_better_for_waits_and_more_for_what_is_useful() -> None:
    slow = report(wait_s=report()["wait_s"] | {"mean": 900.0}, useful_share=0.7)
    both = {"a": report(), "b": slow}
    assert row("mean wait").best(both) == {"a"}
    assert row("useful of that").best(both) == {"b"}


def test_what_reads_the_same_is_not_better_and_nothing_beats_nobody() -> None:
    near = report(wait_s=report()["wait_s"] | {"mean": 60.4})
    assert row("mean wait").best({"a": report(), "b": near}) == frozenset(), "both read 1 min"
    far = report(wait_s=report()["wait_s"] | {"mean": 999.0})
    assert row("mean wait").best({"a": report(), "b": near, "c": far}) == {"a", "b"}
    none = report(useful_share=None)
    assert row("useful of that").best({"a": none, "b": none}) == frozenset()
    assert row("useful of that").best({"a": none, "b": report()}) == {"b"}
    assert row("mean wait").best({"a": report()}) == frozenset(), "alone it is not better than anybody"
    assert not any(row(title).best({"a": report(), "b": report(cycles=9)}) for title in ("thoughts", "stops"))


def test_who_leaves_jobs_behind_is_not_better() -> None:
    quick = report(finished=90, wait_s=report()["wait_s"] | {"mean": 0.0})
    assert row("mean wait").best({"a": report(finished=100), "b": quick}) == {"a"}
    assert row("mean wait").best({"a": report(finished=100), "b": quick | {"finished": 99}}) == {"b"}


def test_the_table_marks_what_is_better_and_says_what_the_mark_means() -> None:
    slow = report(wait_s=report()["wait_s"] | {"mean": 90.0 * 60})
    lines = table({"a": report(), "b": slow}).replace("\u00a0", " ").splitlines()
    waits = next(line for line in lines if line.startswith("mean wait"))
    assert waits.split() == ["mean", "wait", "1", "min*", "1", "h", "30", "min"]
    assert lines[-1] == LEGEND
    assert lines[0].rstrip().endswith("b")
    ends = {line.rstrip("* ").rfind(line.rstrip("* ")[-1]) for line in lines[:-1]}
    assert len(ends) == 1, "the last figures stand under each other"
    assert LEGEND not in table({"a": report(), "b": report()})
    assert "*" not in table({"a": slow})


def test_overruns_are_told_as_how_many_and_by_how_much_each() -> None:
    late = report(overruns={"runs": 3, "delayed_jobs": 2, "delayed_s": 7200.0})
    assert row("planned starts that overruns delayed").cell(late).replace("\u00a0", " ") == "2, by 1 h"
    assert row("planned starts that overruns delayed").cell(report()) == "none"


def test_who_has_the_same_shares_a_sentence() -> None:
    assert listed({"a": "1 h"}) == "1 h with a"
    assert listed({"a": "1 h", "b": "2 h", "c": "1 h"}) == "1 h with a and c and 2 h with b"
    unlike = {"a": report(jobs=3, finished=3), "b": report(jobs=3, finished=2, impossible=1)}
    assert said.answer(unlike).endswith("3 finished with a and 2 finished, 1 impossible with b.")


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 390), ("light", 1440)])
def test_the_page_draws_every_chart_and_axe_finds_nothing(
    page: Path, browser: "Browser", theme: str, width: int
) -> None:
    wrong: list[str] = []
    visitor = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900}, offline=True)  # type: ignore[arg-type]  # one of the two names
    visitor.on("weberror", lambda broke: wrong.append(str(broke.error)))
    visitor.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    sheet = visitor.new_page()
    sheet.goto(page.as_uri())
    sheet.wait_for_function(
        "[...document.querySelectorAll('[data-figure]')].every(place => place.querySelector('.main-svg'))"
    )
    assert sheet.locator("[data-figure]").count() == 8
    ink = sheet.evaluate("getComputedStyle(document.querySelector('[data-figure] .xtick text')).fill")
    assert ink == {"light": "rgb(77, 86, 98)", "dark": "rgb(176, 183, 192)"}[theme]
    offered = sheet.locator(".modebar-btn").evaluate_all("found => found.map(each => each.dataset.title)")
    assert set(offered) == {"Download plot as a PNG", "Zoom in", "Zoom out", "Reset axes"}, (
        "nothing is sent away"
    )
    for fold in sheet.locator("summary").all():
        fold.click()
    assert sheet.evaluate("document.documentElement.scrollWidth") <= width
    turned = "[...document.querySelectorAll('.xtick text')].filter(e => /rotate\\((?!0)/.test(e.getAttribute('transform') || ''))"
    assert sheet.evaluate(f"{turned}.length") == 0, "labels can be read without turning the head"
    sheet.add_script_tag(content=AXE.read_text("utf-8"))
    found = sheet.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    visitor.close()
    assert [each["id"] for each in found["violations"]] == []
    assert wrong == []
