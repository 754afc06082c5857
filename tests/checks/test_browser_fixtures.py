"""The browser fixtures themselves: what goes wrong on a page is seen."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page

from portal.checks.steps import Step, run
from portal.checks.surroundings import environment
from tests.checks.planting import plant
from tests.house.tree import ROOT, text


def test_an_error_on_the_page_is_heard(page: Page, page_errors: list[str]) -> None:
    page.set_content(
        "<p id=here>hello</p><script>console.error('mind this'); throw new Error('broken')</script>"
    )
    assert page.locator("#here").inner_text() == "hello"
    assert sorted(page_errors) == ["console: mind this", "page error: broken"]
    page_errors.clear()


def test_each_test_is_a_fresh_visitor(page: Page) -> None:
    assert page.context.cookies() == []
    assert page.evaluate("window.innerWidth") == 1280


@pytest.mark.browser
def test_an_error_that_nobody_expects_fails_the_test(tmp_path: Path) -> None:
    plant(tmp_path, "pyproject.toml", text(ROOT / "pyproject.toml"))
    plant(tmp_path, "tests/__init__.py", "")
    plant(tmp_path, "tests/conftest.py", 'pytest_plugins = ["tests.fixtures.browsers"]\n')
    plant(tmp_path, "tests/fixtures/browsers.py", text(ROOT / "tests/fixtures/browsers.py"))
    plant(
        tmp_path,
        "tests/test_page.py",
        "def test_page(page):\n    page.set_content('<script>oh()</script>')\n",
    )
    step = Step("pytest", (sys.executable, "-m", "pytest", "-q"), limit_s=50)
    outcome = run(step, root=tmp_path, env=environment() | {"PYTHONPATH": str(ROOT)})
    assert "1 passed, 1 error" in outcome.output
    assert "page error: oh is not defined" in outcome.output
