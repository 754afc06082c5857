"""The Python environment of the checkout, made from requirements.lock: standard library only."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from portal.up.progress import Line
from portal.up.trouble import Trouble

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
VENV = Path(os.environ.get("BERTH_VENV", ROOT / ".venv")).absolute()
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "requirements.sha256"  # written last: an interrupted install has none


def enter(argv: Sequence[str]) -> bool:
    """Return when we are inside an environment that matches the lock; else make it and start over in it."""
    try:
        if not is_current():
            make()
    except Trouble as why:
        print(f"berth: {why}", file=sys.stderr)
        return False
    if Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(PYTHON, [str(PYTHON), str(ROOT / "manage.py"), *argv[1:]])
    return True


def is_current() -> bool:
    """Whether the environment is whole and was made from the lock as it is now."""
    return os.access(PYTHON, os.X_OK) and STAMP.exists() and STAMP.read_text().strip() == _digest()


def _digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def make() -> None:
    """Make or mend the environment; of two at once the second waits, and then finds it done."""
    try:
        VENV.mkdir(parents=True, exist_ok=True)
        door = os.open(VENV.parent, os.O_RDONLY)  # a lock on the directory itself: nothing to leave behind
        os.set_inheritable(door, True)  # if we are killed it holds until the installer has ended too
        _lock(door)
        if not is_current():
            _make()
        os.close(door)
    except OSError as error:
        raise Trouble(
            f"{VENV} cannot be written ({error.strerror}); use a clone of your own, "
            "or name another directory in BERTH_VENV."
        ) from error


def _lock(door: int) -> None:
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("  waiting for another ./manage.py that makes the environment", flush=True)
        fcntl.flock(door, fcntl.LOCK_EX)


def _make() -> None:
    if not (STAMP.exists() and os.access(PYTHON, os.X_OK)):  # none yet, half made, or its Python went away
        _make_venv()
    digest = _digest()
    STAMP.unlink(missing_ok=True)
    _install()
    STAMP.write_text(digest)


def _make_venv() -> None:
    # Without pip: copying it takes longer than all the rest, and Debian may have nothing to copy.
    words = ["-m", "venv", "--without-pip", "--clear", str(VENV)]
    if said := _fails(
        [sys.executable, *words], f"environment in {VENV.name}, Python {sys.version.split()[0]}"
    ):
        raise Trouble(f"python3 -m venv failed ({said}); on Debian and Ubuntu: {_apt_line()}")


def _apt_line() -> str:
    return f"sudo apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv"


def _install() -> None:
    """With uv, which takes seconds; with pip where uv cannot be had or does not work here."""
    count = sum(line[:1].isalpha() for line in LOCK.read_text().splitlines())
    for uv in _uv_commands():
        words = [
            "pip",
            "install",
            "--python",
            str(PYTHON),
            "--require-hashes",
            "--no-deps",
            "--compile-bytecode",
        ]
        # Behind a proxy that inspects TLS only the system knows the right certificates.
        if not _fails([*uv, *words, "-r", str(LOCK)], f"{count} packages, by uv", UV_SYSTEM_CERTS="1"):
            return
    words = ["install", "--require-hashes", "--no-deps", "--progress-bar", "off", "-r", str(LOCK)]
    if said := _fails([*_pip_command(), *words], f"{count} packages, by pip (a minute)"):
        raise Trouble(f"the packages of requirements.lock could not be installed: {said}")


def _uv_commands() -> Iterator[list[str]]:
    """The person's own uv, else one fetched for the purpose."""
    if on_path := shutil.which("uv"):
        yield [on_path]
    if not _fails([*_pip_command(), "install", "uv"], "uv, to install packages quickly"):
        yield [str(VENV / "bin" / "uv")]


def _pip_command() -> list[str]:
    """A pip that installs into our environment: one inside it, this Python's, else one made for the purpose."""
    inside, this = [str(PYTHON), "-m", "pip"], [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    for pip in (inside, this):
        if not _fails([*pip, "--version"]):
            return [*pip, "--disable-pip-version-check", "--quiet"]
    if said := _fails([str(PYTHON), "-m", "ensurepip"], "pip"):
        raise Trouble(f"there is no pip ({said}); on Debian and Ubuntu: {_apt_line()}")
    return [*inside, "--disable-pip-version-check", "--quiet"]


def _fails(command: Sequence[str], title: str = "", **variables: str) -> str:
    """Run it, with a line of progress; the last thing it said if it failed, else nothing."""
    line = Line(title) if title else None
    running = subprocess.Popen(
        command,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        close_fds=False,
    )
    said = _listen(running, line)
    failed = "" if running.returncode == 0 else (said or ["it said nothing"])[-1]
    if line:
        line.end(f"failed: {failed}" if failed else "")
    return failed


def _listen(running: subprocess.Popen[str], line: Line | None) -> list[str]:
    while True:
        try:
            said, _ = running.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            if line:
                line.tick()
            continue
        return [text.strip() for text in said.splitlines() if text.strip()]
