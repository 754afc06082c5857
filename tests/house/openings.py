"""Every module opens with one sentence that says what belongs in it."""

import ast
from pathlib import Path

from tests.house import tree


def silent(root: Path) -> list[str]:
    """Modules without such a sentence; only an empty __init__.py needs none."""
    return [f"{place}: {wrong}" for place in tree.everything(root) if (wrong := _wrong(root / place))]


def _wrong(path: Path) -> str:
    if path.name == "__init__.py" and not tree.text(path).strip():
        return ""
    opening = ast.get_docstring(tree.parsed(path))
    if not opening:
        return "does not say what belongs in it: open it with a docstring of one sentence"
    if not opening.split("\n\n")[0].rstrip().endswith((".", "?", "!")):
        return "its docstring does not open with a whole sentence"
    return ""
