"""`./manage.py test`: its phases, what it leaves out and says so, and its closing line."""

from collections import Counter
from pathlib import Path

import pytest

from portal.checks import suite
from tests.checks.planting import plant
from tests.house.tree import ROOT, text

TESTS = """
import pytest

def test_in_company(): ...
def test_in_company_too(): ...

@pytest.mark.serial
def test_alone(): ...

@pytest.mark.whole
def test_of_a_whole(): ...

@pytest.fixture
def page(): ...

def test_with_a_page(page): ...

@pytest.mark.skip(reason="no root here")
def test_left_out(): ...
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with six tests in all, under our own rules of collecting."""
    plant(tmp_path, "pyproject.toml", text(ROOT / "pyproject.toml"))
    plant(tmp_path, "tests/__init__.py", "")
    plant(tmp_path, "tests/conftest.py", 'pytest_plugins = ["tests.fixtures.phases"]\n')
    plant(tmp_path, "tests/fixtures/phases.py", text(ROOT / "tests/fixtures/phases.py"))
    plant(tmp_path, "tests/test_six.py", TESTS)
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "verify", lambda report: True)
    monkeypatch.setattr(suite.fetch, "browser", lambda: Path("a browser"))
    return tmp_path


def last_line(capfd: pytest.CaptureFixture[str]) -> str:
    return capfd.readouterr().out.strip().splitlines()[-1]


def test_every_test_runs_once_in_one_of_the_phases(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert suite.main([]) == 0
    assert last_line(capfd).startswith("5 passed, 1 skipped in ")


def test_what_no_browser_leaves_out_is_counted_and_said(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert suite.main(["--no-browser"]) == 0
    said = capfd.readouterr().out
    assert "--no-browser left out 1 browser tests." in said
    assert "4 passed, 1 skipped in " in said


def test_further_arguments_go_to_pytest_and_a_failing_test_fails_the_run(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plant(small, "tests/test_bad.py", "def test_bad():\n    assert 0\n")
    assert suite.main(["-k", "bad or alone"]) == 1
    assert last_line(capfd).startswith("1 failed, 1 passed in ")


def test_a_broken_rule_fails_the_run_though_all_tests_pass(
    small: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "verify", lambda report: False)
    monkeypatch.setattr(suite, "_run_phases", lambda more, reports, no_browser: True)
    monkeypatch.setattr(suite, "count", lambda reports: Counter(passed=4))
    assert suite.main([]) == 1
    assert last_line(capfd).startswith("4 passed; verify FAILED in ")


def test_a_selection_that_matches_nothing_is_no_success(
    small: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "_pytest", lambda *arguments: suite.NOTHING_COLLECTED)
    assert suite.main(["-k", "nosuchtest"]) == 1
    assert last_line(capfd).startswith("nothing ran in ")


def test_a_missing_browser_fails_before_anything_runs(
    small: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise suite.NoBrowser("install it with apt-get install chromium")

    monkeypatch.setattr(suite.fetch, "browser", none)
    assert suite.main([]) == 1
    seen = capfd.readouterr()
    assert "apt-get install chromium" in seen.err
    assert "passed" not in seen.out


def test_nothing_is_called_nothing() -> None:
    assert suite.summary(Counter()) == "nothing ran"
    assert suite.summary(Counter(failed=2, passed=5)) == "2 failed, 5 passed"
