"""Each tool of `./manage.py verify`, given our own code with one thing wrong in it, says so."""

from pathlib import Path

import pytest

from portal.checks.steps import Outcome, run
from portal.checks.surroundings import environment
from portal.checks.verify import steps
from tests.checks.planting import copy, plant

STEPS = {step.name: step for step in steps()}
PURE = "scheduler/core/order.py"


def outcome(name: str, root: Path) -> Outcome:
    return run(STEPS[name], root=root, env=environment())


def test_every_step_is_seen_to_fail() -> None:
    assert set(STEPS) == {"types", "house", "migrations", "imports", "format", "lint"}


def test_a_badly_formatted_file_is_found(tmp_path: Path) -> None:
    plant(copy(tmp_path), "portal/errors.py", "\n\nx = {  'a':1 }\n")
    found = outcome("format", tmp_path)
    assert not found.ok
    assert "portal/errors.py" in found.output


LINTED = {
    "a clock in the core": (PURE, "import time\n", "TID251"),
    "today in the core": (PURE, "from datetime import datetime\n\nx = datetime.now()\n", "TID251"),
    "chance in the core": (PURE, "import random\n", "TID251"),
    "numpy's chance in the core": (PURE, "import numpy as np\n\nx = np.random.default_rng()\n", "TID251"),
    "a file in the core": (PURE, "from pathlib import Path\n", "TID251"),
    "a signal": ("portal/jobs/actions.py", "from django.dispatch import receiver\n", "TID251"),
    "a blind except": ("portal/errors.py", "try:\n    x = 1\nexcept Exception:\n    x = 2\n", "BLE001"),
    "a bare except": ("portal/errors.py", "try:\n    x = 1\nexcept:\n    x = 2\n", "E722"),
    "a tangled function": (
        "portal/errors.py",
        "def f(a: int) -> int:\n" + "".join(f"    if a == {n}:\n        return {n}\n" for n in range(8)) + "    return 9\n",
        "C901",
    ),
    "seven arguments": ("portal/errors.py", "def f(*, a, b, c, d, e, f, g): ...\n", "PLR0913"),
    "five arguments by position": ("portal/errors.py", "def f(a, b, c, d, e): ...\n", "PLR0917"),
    "a time without zone": ("portal/errors.py", "from datetime import datetime\n\nx = datetime(2026, 1, 1)\n", "DTZ001"),
    "a suppression without reason's code": ("portal/errors.py", "x = 1  # noqa\n", "PGH004"),
    "a print": ("portal/errors.py", "print(1)\n", "T201"),
    "commented-out code": ("portal/errors.py", "# x = f(1)\n", "ERA001"),
}  # fmt: skip


@pytest.mark.parametrize(("place", "text", "code"), LINTED.values(), ids=LINTED)
def test_the_linter_finds(place: str, text: str, code: str, tmp_path: Path) -> None:
    for rules in ("pyproject.toml", "scheduler/core/ruff.toml"):
        plant(tmp_path, rules, (Path(__file__).parents[2] / rules).read_text())
    plant(tmp_path, place, f'"""A module."""\n\n{text}')
    found = outcome("lint", tmp_path)
    assert not found.ok
    assert code in found.output


BROKEN = {
    "portal stands on scheduler": ("scheduler/wire.py", "from portal import errors"),
    "core and agent do not know each other": ("scheduler/agent/nvml.py", "from scheduler.core import model"),
    "the core thinks with the standard library": ("scheduler/core/order.py", "import redis"),
    "the agent and the wire never see Django": ("scheduler/agent/ranks.py", "import django"),
    "the wire is standard library only": ("scheduler/wire.py", "import kombu"),
    "the rooms of the portal, from high to low": (
        "portal/journal/queries.py",
        "from portal.jobs import models",
    ),
    "only the assembly opens doors": ("portal/cycle/apply.py", "from portal.home import views"),
}


def test_each_broken_layer_is_found(tmp_path: Path) -> None:
    """All at once: the graph is built once, and every contract has its own verdict."""
    copy(tmp_path)
    for place, line in BROKEN.values():
        plant(tmp_path, place, f"\n\ndef planted() -> None:\n    {line}\n")
    found = outcome("imports", tmp_path)
    assert not found.ok
    verdicts = {line.rsplit(" BROKEN")[0] for line in found.output.splitlines() if " BROKEN" in line}
    assert {name for name in BROKEN if any(name in verdict for verdict in verdicts)} == set(BROKEN)


def test_a_module_that_no_layer_names_is_found(tmp_path: Path) -> None:
    for package in ("portal/billing", "scheduler/cloud"):
        plant(copy(tmp_path), f"{package}/__init__.py", "")
    found = outcome("imports", tmp_path)
    assert not found.ok
    assert "portal.billing" in found.output
    assert "scheduler.cloud" in found.output


def test_untyped_code_and_an_unworded_reason_are_found(tmp_path: Path) -> None:
    plant(copy(tmp_path), PURE, "\n\ndef planted(x):\n    return x\n")
    plant(tmp_path, "scheduler/core/reasons.py", '    TIRED = "tired"\n')
    found = outcome("types", tmp_path)
    assert not found.ok
    assert "no-untyped-def" in found.output
    assert "explain.py" in found.output
    assert 'expected "Never"' in found.output


def test_a_missing_migration_is_found(tmp_path: Path) -> None:
    plant(copy(tmp_path), "portal/journal/models.py", "\n\nclass Planted(models.Model):\n    pass\n")
    found = outcome("migrations", tmp_path)
    assert not found.ok
    assert "journal: Create model Planted" in found.output


def test_a_failing_house_test_fails_the_house_step(tmp_path: Path) -> None:
    plant(tmp_path, "tests/house/test_planted.py", "def test_it() -> None:\n    assert 1 == 2\n")
    found = outcome("house", tmp_path)
    assert not found.ok
    assert "1 failed" in found.output
