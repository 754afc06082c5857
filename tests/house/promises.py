"""What the repository promises a stranger: two commands, a licence, a lock that installs anywhere."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from portal.checks.lock import trouble

COMMANDS = ("up", "test")


def broken(root: Path) -> list[str]:
    """Every promise that is not kept."""
    return [*_commands(root), *_lock(root), *_licence(root)]


def _commands(root: Path) -> Iterator[str]:
    readme, command = root / "README.md", root / "manage.py"
    said = readme.read_text() if readme.exists() else ""
    for word in COMMANDS:
        if f"./manage.py {word}" not in said:
            yield f"README.md: does not say ./manage.py {word}"
        if f'"{word}": (' not in command.read_text():
            yield f"manage.py: does not know the word {word}"
    for program in (command, root / ".ci" / "run"):
        if not os.access(program, os.X_OK):
            yield f"{program.relative_to(root)}: not executable"


def _lock(root: Path) -> Iterator[str]:
    lock = (root / "requirements.lock").read_text()
    yield from (f"requirements.lock: {why}" for why in trouble(lock))
    pins = dict(re.findall(r"^([a-z0-9._-]+)==([^ \\;]+)", lock, re.MULTILINE))
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    for asked in map(Requirement, project["dependencies"] + project["optional-dependencies"]["test"]):
        if not asked.specifier.contains(pins.get(asked.name, "0")):
            yield f"requirements.lock: does not pin {asked}; run ./manage.py lock"


def _licence(root: Path) -> Iterator[str]:
    if "Apache License" not in (root / "LICENSE").read_text():
        yield "LICENSE: not the Apache License"
