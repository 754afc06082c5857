"""Finds the browser for the browser tests: the named one, the machine's, or one we installed before."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from portal.checks.surroundings import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class NoBrowser(Exception):
    """There is no browser that runs; the sentence says what to do."""


def find() -> Path | None:
    """The first browser that runs, or None; a browser named in CHROMIUM must run."""
    if named := os.environ.get("CHROMIUM"):
        path = Path(shutil.which(named) or named)
        if not runs(path):
            raise NoBrowser(f"CHROMIUM is {named}, but that does not run; correct or unset CHROMIUM.")
        return path
    return next((path for path in _places() if runs(path)), None)


def _places() -> Iterator[Path]:
    for name in NAMES:
        if found := shutil.which(name):
            yield Path(found)
    yield from installed()


def installed() -> Iterator[Path]:
    """Those that portal/checks/fetch.py put into our cache."""
    yield from sorted(cache().glob("*/chrome-headless-shell-*/*shell"), reverse=True)
    yield cache() / "packed" / "run"


def runs(path: Path) -> bool:
    """Whether it can be started at all: a package may be there and its libraries not."""
    if not os.access(path, os.X_OK):
        return False
    try:
        done = subprocess.run([path, "--version"], capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def cache() -> Path:
    """Outside the checkout where that is possible, so that the next clone finds it too."""
    ours = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "berth"
    try:
        ours.mkdir(parents=True, exist_ok=True)
    except OSError:  # an account without a home
        ours = ROOT / ".state" / "cache"
    return ours / "browsers"
