"""How steps run and what the reader sees of them."""

import os
import sys
from pathlib import Path

import pytest

from portal.checks.steps import Step, run, run_all
from portal.checks.surroundings import environment


def python(name: str, program: str, limit_s: float = 30) -> Step:
    return Step(name, (sys.executable, "-c", program), limit_s)


def test_a_step_that_holds_is_one_line_without_its_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_all([python("quiet", "print('noise')")], root=tmp_path, env=os.environ)
    said = capsys.readouterr().out
    assert said.split()[:2] == ["quiet", "ok"]
    assert "noise" not in said


def test_a_step_that_fails_shows_its_output_and_the_others_still_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [python("bad", "import sys; sys.exit('what is wrong')"), python("good", "")]
    assert not run_all(steps, root=tmp_path, env=os.environ)
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "what is wrong" in said
    assert "good" in said


def test_a_step_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    # The grandchild would keep the pipe open for an hour if it were left alive.
    program = "import subprocess as s; s.Popen(['sleep', '3600']).wait()"
    outcome = run(python("stuck", program, limit_s=1), root=tmp_path, env=os.environ)
    assert not outcome.ok
    assert outcome.seconds < 20
    assert "stuck took longer than 1 s" in outcome.output


def test_the_tools_see_no_server_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://real/portal")
    monkeypatch.setenv("BERTH_STATE", "/var/lib/berth")
    monkeypatch.setenv("BERTH_DEMO", "1")
    seen = environment()
    assert "real" not in seen["DATABASE_URL"]
    assert seen["BERTH_STATE"] == "/nonexistent"
    assert "BERTH_DEMO" not in seen
