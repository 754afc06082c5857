"""`./manage.py test`: verify, then every test, then one line that says how it went."""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from portal.checks import fetch
from portal.checks.chromium import NoBrowser
from portal.checks.steps import SIDE_BY_SIDE, say
from portal.checks.surroundings import ROOT, environment
from portal.checks.verify import verify

LIMIT_S = 1200
PHASES = {
    "together": ("-n", str(SIDE_BY_SIDE)),
    "by-file": ("-n", str(SIDE_BY_SIDE), "--dist=loadfile"),
    "alone": (),
}
NOTHING_COLLECTED = 5  # pytest's exit status when no test was selected


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./manage.py test", description=__doc__, epilog="Other arguments go to pytest."
    )
    parser.add_argument("--no-browser", action="store_true", help="leave the browser tests out")
    asked, more = parser.parse_known_args(argv)
    began = time.monotonic()
    if not asked.no_browser and not _browser_is_there():
        return 1
    with tempfile.TemporaryDirectory() as reports:
        held = verify(report=Path(reports) / "house.xml")
        passed = _run_phases(more, Path(reports), no_browser=asked.no_browser)
        counts = count(Path(reports))
    if asked.no_browser:
        print(f"--no-browser left out {_browser_tests(more)} browser tests.")
    print(f"{summary(counts)}{'' if held else '; verify FAILED'} in {time.monotonic() - began:.1f} s")
    return 0 if held and passed and counts["passed"] else 1


def _browser_is_there() -> bool:
    """Looked for before anything else: a missing browser should not show up after minutes."""
    began = time.monotonic()
    try:
        found = fetch.browser()
    except NoBrowser as why:
        print(why, file=sys.stderr)
        return False
    say("browser", str(found), time.monotonic() - began)
    return True


def _run_phases(more: list[str], reports: Path, *, no_browser: bool) -> bool:
    """What bears company side by side, then one by one what does not."""
    left_out = ["--no-browser"] if no_browser else []
    return {
        _pytest(f"--phase={phase}", *workers, f"--junitxml={reports}/{phase}.xml", *left_out, *more)
        for phase, workers in PHASES.items()
    } <= {0, NOTHING_COLLECTED}


def _pytest(*arguments: str) -> int:
    """Its output goes straight to the reader, who wants to see it move."""
    command = [sys.executable, "-m", "pytest", "--ignore=tests/house", *arguments]
    child = subprocess.Popen(command, cwd=ROOT, env=environment())
    try:
        return child.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"The tests took longer than {LIMIT_S} s and were ended.", file=sys.stderr)
        child.send_signal(signal.SIGINT)
        return _let_go(child)
    except KeyboardInterrupt:  # the terminal sent it to pytest as well
        _let_go(child)
        raise


def _let_go(child: subprocess.Popen[bytes]) -> int:
    """Give pytest the time to stop its servers; they end with it in any case."""
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    return 1


def count(reports: Path) -> Counter[str]:
    """Sum what the reports of all pytest runs say."""
    counts: Counter[str] = Counter()
    for report in reports.glob("*.xml"):
        for case in ElementTree.parse(report).iter("testcase"):
            ends = {child.tag for child in case} & {"failure", "error", "skipped"}
            counts[
                {"failure": "failed", "error": "failed"}.get(min(ends), "skipped") if ends else "passed"
            ] += 1
    return counts


def summary(counts: Counter[str]) -> str:
    """ "3 failed, 120 passed, 1 skipped", without what is nought."""
    return (
        ", ".join(f"{counts[kind]} {kind}" for kind in ("failed", "passed", "skipped") if counts[kind])
        or "nothing ran"
    )


def _browser_tests(more: list[str]) -> int:
    """How many tests --no-browser leaves out."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--phase=browser", *more]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    found = re.search(r"^(\d+)(/\d+)? tests? collected", done.stdout, re.MULTILINE)
    return int(found[1]) if found else 0
