"""Policies side by side: what the charts are drawn from, and the page that stands alone."""

import json
from pathlib import Path

import pytest

from portal.replay import command, compare, fairness, groups
from portal.replay.charts import Played
from portal.replay.gantt import blocks, held, racks
from portal.replay.gantt import groups as shown_groups
from portal.replay.options import BadChoice
from portal.replay.series import BINS, LARGEST, Series
from scheduler.sim.events import Finished, NodeChanged, Place, Started, Stopped, Swapped
from scheduler.sim.files import BadFile
from scheduler.sim.score import Score, Tale
from scheduler.sim.site import Site
from scheduler.sim.workload import Ask, Cluster, Machine
from tests.sim.stage import ask, nodes


def seats(*names: str, gpus: int = 4) -> tuple[Place, ...]:
    return tuple(Place(name, tuple(range(gpus))) for name in names)


def test_use_is_the_mean_of_what_was_held_in_each_part_of_the_time() -> None:
    series = Series()
    series.note(Started(0.0, "a", 1, seats("n1")))
    series.note(Started(100.0, "b", 1, seats("n2")))
    series.note(Finished(300.0, "a", 1))
    series.note(Stopped(400.0, "b", 1, "limit", "", False, 0.0))
    edges, held = series.use(0.0, 400.0)
    assert (len(edges), len(held), edges[0]) == (BINS, BINS, 0.0)
    assert held.mean() * 400 == pytest.approx(4 * 300 + 4 * 300)
    assert [float(held[BINS * quarter // 4 + 1]) for quarter in range(4)] == pytest.approx([4, 8, 8, 4])


def test_only_the_largest_runs_are_kept_and_all_are_counted() -> None:
    series = Series()
    for number in range(LARGEST + 50):
        series.note(Started(number, f"j{number}", 1, seats("n1", gpus=1)))
        series.note(Finished(number + (10.0 if number < 50 else 20.0), f"j{number}", 1))
    kept = series.largest()
    assert (len(kept), series.stays) == (LARGEST, LARGEST + 50)
    assert {stay.end - stay.begin for stay in kept} == {20.0}


def test_a_swap_ends_one_stay_and_begins_another() -> None:
    series = Series()
    series.note(Started(0.0, "a", 1, seats("n1", "n2")))
    series.note(Swapped(10.0, "a", 1, "n1", seats("n3")[0], 0.0))
    series.note(Finished(30.0, "a", 1))
    found = [(stay.begin, stay.end, [place.node for place in stay.places]) for stay in series.largest()]
    assert found == [(0.0, 10.0, ["n1", "n2"]), (10.0, 30.0, ["n2", "n3"])]


def test_neighbouring_gpus_are_one_block_and_a_bar_lies_where_its_gpus_are() -> None:
    site = Site(Cluster(nodes(5)))
    lanes = {name: lane for lane, name in enumerate(site.names)}
    assert list(blocks(seats("n1", "n2", "n4"), lanes, site)) == [(0.0, 2.0), (3.0, 1.0)]
    assert list(blocks((*seats("n1"), *seats("n2", gpus=1)), lanes, site)) == [(0.0, 1.25)]
    assert list(blocks((*seats("n1", gpus=1), *seats("n2")), lanes, site)) == [(0.0, 0.25), (1.0, 1.0)]
    assert list(blocks((Place("n2", (0, 2, 3)),), lanes, site)) == [(1.0, 0.25), (1.5, 0.5)]


def test_what_is_out_of_use_is_known_from_when_to_when() -> None:
    series = Series()
    for t, node, state, gpus in (
        (5.0, "n1", "down", None),
        (6.0, "n2", "drain", (0, 1)),
        (7.0, "n1", "drain", None),  # it is out already
        (8.0, "n1", "up", None),
        (9.0, "n2", "up", (0,)),  # not all that is out
        (9.5, "n2", "up", (0, 1, 2)),
        (50.0, "n3", "down", None),  # and stays so
        (99.0, "n4", "down", None),  # after everything
    ):
        series.note(NodeChanged(t, node, state, gpus))
    found = [(out.node, out.begin, out.end, out.gpus) for out in series.outs(60.0)]
    assert found == [("n1", 5.0, 8.0, None), ("n2", 6.0, 9.5, (0, 1)), ("n3", 50.0, 60.0, None)]


def test_each_rack_has_its_share_of_what_was_held() -> None:
    site = Site(Cluster((*nodes(2, rack="r1"), Machine("n3", gpus=4, nvlink_domain=4, rack="r2"))))
    series = Series()
    series.note(Started(0.0, "a", 1, seats("n1", "n3")))
    series.note(Stopped(50.0, "a", 1, "node_lost", "", False, 0.0))
    series.note(Started(50.0, "a", 2, seats("n3")))
    series.note(Finished(100.0, "a", 2))
    played = Played(Score.of([ask("a", 8)]), series, site)
    assert held(played) == {"r1": pytest.approx(0.25), "r2": pytest.approx(1.0)}
    assert [(rack.name, rack.first, rack.end) for rack in racks(site)] == [("r1", 0, 2), ("r2", 2, 3)]


def test_more_groups_than_colours_are_the_largest_and_the_others() -> None:
    series, asks = Series(), [ask(f"j{at}", 1, team=f"t{at}") for at in range(9)]
    for at, each in enumerate(asks):
        series.note(Started(0.0, each.job, 1, seats("n1", gpus=1)))
        series.note(Finished(10.0 + at, each.job, 1))
    played = Played(Score.of(asks), series, Site(Cluster(nodes(1))))
    assert shown_groups({"fifo": played}, groups.BY_TEAM) == ["t8", "t7", "t6", "t5", "t4", "t3", "others"]


def told(team: str, wait: float, work: float = 1000.0) -> Tale:
    """A job of this team that finished so much later than it could have."""
    return Tale(ask(f"{team}-{wait}", 1, 0.0, work, team=team), start=wait, finish=wait + work)


def test_stretch_is_the_time_a_job_took_in_times_its_work() -> None:
    tales = [told("a", 0), told("a", 2000), told("b", 500), told("b", 60, work=60)]
    found = {each.name: each.stretch for each in fairness.treated(tales, groups.BY_TEAM)}
    assert found == {
        "a": 2.0,
        "b": pytest.approx((1.5 + 1.1) / 2),
    }  # a short job may wait ten minutes as its double


def test_evenness_is_one_when_all_are_stretched_alike() -> None:
    alike = fairness.treated([told("a", 500), told("b", 500)], groups.BY_TEAM)
    apart = fairness.treated([told("a", 0), told("b", 99_000)], groups.BY_TEAM)
    assert fairness.evenness(alike) == pytest.approx(1.0)
    assert (fairness.evenness(apart) or 0.0) < 0.55
    assert fairness.evenness([]) is None


def test_many_teams_are_shown_as_the_largest_and_the_others() -> None:
    tales = [told(f"t{number:02}", 10.0, work=1000.0 + number) for number in range(30)]
    found = fairness.treated(tales, groups.BY_TEAM)
    assert (len(found), found[0].name, found[-1].name) == (fairness.SHOWN + 1, "t29", fairness.OTHERS)
    assert sum(each.jobs for each in found) == 30


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ([ask("a", team="x"), ask("b", team="y")], "teams"),
        ([ask("a", user="x"), ask("b", user="y")], "people"),
        ([ask("a"), ask("b", 99)], "sizes"),
        ([], "sizes"),
    ],
)
def test_jobs_are_told_apart_by_what_differs(asks: list[Ask], expected: str) -> None:
    assert groups.telling(asks, groups.BY_TEAM, groups.BY_PERSON).plural == expected


def test_policies_are_named_or_files_named_after_themselves(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.json").write_text('{"name": "easy"}')
    first, second = str(tmp_path / "one" / "mine.json"), str(tmp_path / "two" / "mine.json")
    found = compare.named(["fifo", first, second])
    assert [policy.name for policy in found.values()] == ["fifo", "easy", "easy"]
    assert list(found) == ["fifo", "mine", second]
    with pytest.raises(BadChoice, match="is named twice"):
        compare.named(["fifo", "fifo"])
    with pytest.raises(BadFile, match=r"lifo, line 1, column 1: .*default, fifo, easy"):
        compare.named(["fifo", "lifo"])


def test_the_command_compares_and_writes_all_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text('{"nodes": [{"name": "n1", "gpu_type": "A100", "gpus": 8}]}')
    (tmp_path / "j.csv").write_text("job,submit_s,duration_s,gpus\na,0,10,8\nb,0,10,8\n")
    names = [
        "--cluster",
        str(tmp_path / "c.json"),
        "--jobs",
        str(tmp_path / "j.csv"),
        "--compare",
        "easy,fifo",
    ]
    outs = ["--report", str(tmp_path / "r.json"), "--page", str(tmp_path / "p.html")]
    assert command.main(["replay", *names, *outs]) == 0
    assert list(json.loads((tmp_path / "r.json").read_text())) == ["easy", "fifo"]
    assert "easy" in capsys.readouterr().out.splitlines()[1]
    assert (tmp_path / "p.html").stat().st_size < 8_000_000
    assert command.main(["replay", *names[:-1], "easy,nope.json", *outs]) == 2
    assert capsys.readouterr().err.startswith("replay: nope.json, line 1, column 1: ")
