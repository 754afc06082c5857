"""What the repository promises a stranger: two commands, a licence, a lock that installs anywhere."""

import os
from pathlib import Path

from portal.checks.lock import trouble

COMMANDS = ("up", "test")


def broken(root: Path) -> list[str]:
    """Every promise that is not kept."""
    readme, command = root / "README.md", root / "manage.py"
    wrong = [f"requirements.lock: {why}" for why in trouble((root / "requirements.lock").read_text())]
    if not os.access(command, os.X_OK):
        wrong.append("manage.py: not executable, and the README says ./manage.py")
    for word in COMMANDS:
        if not readme.exists() or f"./manage.py {word}" not in readme.read_text():
            wrong.append(f"README.md: does not say ./manage.py {word}")
        if f'"{word}": (' not in command.read_text():
            wrong.append(f"manage.py: does not know the word {word}")
    if not os.access(root / ".ci" / "run", os.X_OK):
        wrong.append(".ci/run: missing or not executable")
    if "Apache License" not in (root / "LICENSE").read_text():
        wrong.append("LICENSE: not the Apache License")
    return wrong
