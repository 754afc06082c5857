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
