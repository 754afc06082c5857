"""`./manage.py verify`: everything that holds without a running part."""

import argparse
import sys
import time
from pathlib import Path

from portal.checks.steps import Step, run_all
from portal.checks.surroundings import ROOT, environment, tool

PYTHON = sys.executable


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./manage.py verify", description=__doc__)
    parser.add_argument("--fix", action="store_true", help="first format, and mend what ruff can mend")
    asked = parser.parse_args(argv)
    return 0 if verify(fix=asked.fix) else 1


def verify(*, fix: bool = False, report: Path | None = None) -> bool:
    """Run all steps and say how it went; the house tests write their counts into the report."""
    began = time.monotonic()
    print("verify", flush=True)
    mended = run_all(mending(), root=ROOT, env=environment()) if fix else True
    held = run_all(steps(report), root=ROOT, env=environment())
    verdict = "everything holds" if held and mended else "something does not hold, see above"
    print(f"verify: {verdict} ({time.monotonic() - began:.1f} s)", flush=True)
    return held and mended


def mending() -> list[Step]:
    # One step, because the formatter has the last word on what the linter rewrote.
    both = f"'{tool('ruff')}' check --fix --quiet . ; '{tool('ruff')}' format --quiet ."
    return [Step("fix", ("sh", "-c", both))]


def steps(report: Path | None = None) -> list[Step]:
    """The slow ones first: two run at a time, and the quick ones fill the gaps."""
    counted = (f"--junitxml={report}",) if report else ()
    return [
        Step("types", (PYTHON, "-m", "mypy")),
        Step("house", (PYTHON, "-m", "pytest", "-q", "--tb=short", *counted, "tests/house")),
        Step("migrations", (PYTHON, "-m", "portal.checks.migrations")),
        Step("imports", (tool("lint-imports"), "--no-cache", "--no-logo")),
        Step("format", (tool("ruff"), "format", "--check", ".")),
        Step("lint", (tool("ruff"), "check", ".")),
    ]
