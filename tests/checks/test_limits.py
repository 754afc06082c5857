"""A test that hangs fails after its limit and says where it stood."""

import sys
from pathlib import Path

from portal.checks.steps import Step, run
from portal.checks.surroundings import environment
from tests.checks.planting import plant
from tests.house.tree import ROOT, text

HANGING = """
import threading
import pytest

@pytest.fixture
def slow_to_prepare():
    threading.Event().wait()

@pytest.mark.limit(0.3)
def test_hangs():
    threading.Event().wait()

@pytest.mark.limit(0.3)
def test_prepares_for_ever(slow_to_prepare): ...

def test_is_quick(): ...
"""


def test_a_hanging_test_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    plant(tmp_path, "pyproject.toml", text(ROOT / "pyproject.toml"))
    plant(tmp_path, "tests/__init__.py", "")
    plant(tmp_path, "tests/conftest.py", 'pytest_plugins = ["tests.fixtures.limits"]\n')
    plant(tmp_path, "tests/fixtures/limits.py", text(ROOT / "tests/fixtures/limits.py"))
    plant(tmp_path, "tests/test_hanging.py", HANGING)
    step = Step("pytest", (sys.executable, "-m", "pytest", "-q"), limit_s=50)
    outcome = run(step, root=tmp_path, env=environment())
    assert "1 failed, 1 passed, 1 error" in outcome.output
    assert "test_hangs took longer than 0.3 s" in outcome.output
    assert "threading.py" in outcome.output  # the trace of where it stood
