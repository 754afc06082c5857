"""The measurements run: a whole portal of their own, a few jobs, and figures at the end."""

import pytest

from portal import bench


@pytest.mark.serial
@pytest.mark.limit(120)
def test_latency_measures_real_jobs_and_ends_what_it_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["bench", "latency", "--jobs", "3", "--agents", "1", "--idle", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "submit to first rank running, 3 jobs: median" in said
    assert "agents, 1 of them: memory" in said


def test_an_unknown_measurement_is_answered_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["bench", "speed"]) == 2
    assert "latency" in capsys.readouterr().err


def test_the_planner_is_measured_at_any_size_and_searches_that_end_early_say_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--only", "cycle,searches,worst", "--scale", "0.02", "--rounds", "2"]
    assert bench.main(["bench", "planner", *words]) in (0, 1)  # 1: a goal was missed, as on a busy machine
    said = capsys.readouterr().out
    for what in (
        "cold round, 40 nodes, 200 waiting, p95",
        "warm round",
        "impossible",
        "1 stop: reclaimed",
        "1,000 teams",
    ):
        assert what in said
    assert "told not reached" in said


def test_a_section_that_is_not_there_is_answered_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench.main(["bench", "planner", "--only", "speed"]) == 2
    assert "cycle, searches, worst" in capsys.readouterr().err
