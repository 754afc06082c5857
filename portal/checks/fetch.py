"""Installs a browser where the machine has none: as a system package, by Playwright, or from a packed one."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

from portal.checks.chromium import NoBrowser, cache, find

PACKED = "@sparticuz/chromium@147"  # a whole Chromium with its libraries, for machines without root
INFLATE = (
    "const fs = require('fs'), [from, to] = process.argv.slice(1);"
    "fs.createReadStream(from).pipe(require('zlib').createBrotliDecompress()).pipe(fs.createWriteStream(to))"
)
# It has no sandbox of its own and keeps its libraries and fonts beside it. Its makers also run it as a
# single process; with two browser contexts that hangs, and only their own hosts need it.
RUN = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FONTCONFIG_PATH="$here" \\
  exec "$here/chromium" --headless=shell --no-zygote --no-sandbox "$@"
"""
FONTS = """<?xml version="1.0"?>
<fontconfig><dir>{place}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{place}/fonts.cache</cachedir></fontconfig>
"""


def browser() -> Path:
    """A browser that runs, installed now if need be; NoBrowser says which command would help."""
    for way in (None, by_apt, by_playwright, by_npm):
        if way is not None:
            print(f"  no browser yet: trying {way.__name__.replace('by_', '')}", flush=True)
            way()
        if found := find():
            return found
    raise NoBrowser(
        "The browser tests need Chromium, and it could not be installed from here. Install it with\n"
        f"  {'' if os.geteuid() == 0 else 'sudo '}apt-get install chromium\n"
        "(or your system's own way), or name one: CHROMIUM=/path/to/chrome ./manage.py test. "
        "To leave the browser tests out: ./manage.py test --no-browser"
    )


def by_apt() -> None:
    """Only root may, and only Debian and its children can."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"]
    if not _does(install, quiet):
        _does(["apt-get", "update", "-q"], quiet) and _does(install, quiet)


def by_playwright() -> None:
    """Playwright's own download; it needs the internet and the system's libraries."""
    place = {"PLAYWRIGHT_BROWSERS_PATH": str(cache())}
    _does([sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"], place)


def by_npm() -> None:
    """A packed Chromium from npm, unpacked by the Node that Playwright brings."""
    if not (npm := shutil.which("npm")):
        return
    place = cache() / "packed.draft"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if _does([npm, "pack", "--silent", "--pack-destination", str(place), PACKED]):
        _unpack(next(place.glob("*.tgz")), place)
        shutil.rmtree(cache() / "packed", ignore_errors=True)
        place.rename(cache() / "packed")
        (cache() / "packed" / "fonts.conf").write_text(FONTS.format(place=cache() / "packed"))


def _unpack(package: Path, place: Path) -> None:
    _untar(package, place)
    for packed in (place / "package" / "bin").glob("*.br"):
        _does([_node(), "-e", INFLATE, str(packed), str(place / packed.stem)])
    for inner in place.glob("*.tar"):
        _untar(inner, place)
    (place / "chromium").chmod(0o755)
    (place / "run").write_text(RUN)
    (place / "run").chmod(0o755)
    shutil.rmtree(place / "package")


def _untar(archive: Path, place: Path) -> None:
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):  # the first releases of 3.11 have none
            opened.extraction_filter = tarfile.data_filter
        opened.extractall(place)
    archive.unlink()


def _node() -> str:
    import playwright

    return str(Path(playwright.__file__).parent / "driver" / "node")


def _does(command: list[str], more: Mapping[str, str] | None = None) -> bool:
    """Whether the command succeeds; its last lines are shown when it does not."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(more or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        print(f"    {why}", flush=True)
        return False
    if done.returncode != 0:
        print("    " + "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-3:]), flush=True)
    return done.returncode == 0
