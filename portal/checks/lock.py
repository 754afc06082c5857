"""`./manage.py lock`: refreshes requirements.lock from pyproject.toml, with hashes and without addresses."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from portal.checks.surroundings import ROOT

COMPILE = (
    *("pip", "compile", "--extra", "test", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate", "--quiet"),
)
# An option line, a link, or a direct reference: each would tie the lock to somebody's machine.
ADDRESS = re.compile(r"://|^\s*-(-index-url|-extra-index-url|-find-links|-trusted-host|i|f)\b| @ ")
PIN = re.compile(r"^[A-Za-z0-9._-]+(\[[^\]]*\])?==")


def main(argv: list[str]) -> int:
    """Further arguments go to uv, for example --upgrade or --upgrade-package django."""
    with tempfile.TemporaryDirectory() as directory:
        draft = Path(directory) / "requirements.lock"
        shutil.copyfile(ROOT / "requirements.lock", draft)  # what is pinned stays pinned
        command = [_uv(Path(directory)), *COMPILE, *argv, "-o", str(draft), "pyproject.toml"]
        env = {**os.environ, "UV_SYSTEM_CERTS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, timeout=600)
        if done.returncode != 0:
            return done.returncode
        return keep(draft.read_text(), ROOT / "requirements.lock")


def keep(text: str, lock: Path) -> int:
    """Write the new lock unless something is wrong with it."""
    if wrong := trouble(text):
        print("requirements.lock is left as it was:\n  " + "\n  ".join(wrong), file=sys.stderr)
        return 1
    draft = lock.with_name(".requirements.lock.draft")
    draft.write_text(text)
    draft.replace(lock)
    print(f"requirements.lock: {sum(map(_is_pin, text.splitlines()))} pins")
    return 0


def trouble(text: str) -> list[str]:
    """What must not be in a lock: addresses, and pins without a hash."""
    lines = text.splitlines()
    wrong = [
        f"line {n} holds an address: {line.strip()}"
        for n, line in enumerate(lines, 1)
        if ADDRESS.search(line)
    ]
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _is_pin(line) and "--hash=" not in line + following:
            wrong.append(f"line {number + 1} has no hash: {line.strip()}")
    return wrong if any(map(_is_pin, lines)) else [*wrong, "it pins nothing"]


def _is_pin(line: str) -> bool:
    return PIN.match(line) is not None


def _uv(directory: Path) -> str:
    """The uv beside our Python or on the path, else a fresh one for this call only."""
    beside = Path(sys.executable).with_name("uv")
    if found := (str(beside) if beside.exists() else shutil.which("uv")):
        return found
    subprocess.run([sys.executable, "-m", "venv", str(directory / "uv")], check=True, timeout=120)
    pip = [str(directory / "uv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "uv"], check=True, timeout=300)
    return str(directory / "uv" / "bin" / "uv")
