"""Trees to plant a violation in: an empty one for the house rules, a copy of ours for the tools."""

import shutil
from pathlib import Path

from tests.house.tree import ROOT, files


def plant(root: Path, place: str, text: str) -> None:
    """Write a file into the tree, or add to the end of one that is there."""
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def copy(root: Path) -> Path:
    """Our own code, as the tools see it, in another place."""
    for place in files(ROOT):
        if place.parts[0] in {"portal", "scheduler", "manage.py", "pyproject.toml", "templates"}:
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / place, root / place)
    return root
