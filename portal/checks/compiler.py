"""A C compiler for the one test that needs one: the machine's own, else the one that comes as a wheel."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

# 100 MB, so not in requirements.lock: most machines have a compiler, and `up` never needs one.
WHEEL = "ziglang==0.17.0"
LIMIT_S = 300


class NoCompiler(Exception):
    """There is none and none could be installed; the message names the command that would help."""


def command() -> list[str]:
    """How to call the compiler; installs the wheel where the machine has none."""
    if found := shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"):
        return [found]
    if not importlib.util.find_spec("ziglang"):
        _install()
    return [sys.executable, "-m", "ziglang", "cc"]


def _install() -> None:
    uv = Path(sys.executable).with_name("uv")
    ways = (
        [str(uv), "pip", "install", "--system-certs", "--python", sys.executable],
        [sys.executable, "-m", "pip", "install"],
    )
    for way in ways:
        try:
            done = subprocess.run([*way, "--quiet", WHEEL], check=False, capture_output=True, timeout=LIMIT_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            importlib.invalidate_caches()
            return
    raise NoCompiler(
        f"There is no C compiler: install one (sudo apt install gcc), or: {sys.executable} -m pip install {WHEEL}"
    )
