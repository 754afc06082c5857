"""How long a file and a function may get: big files are where taste dies."""

from collections.abc import Iterator
from pathlib import Path

from tests.house import tree

SOURCE, TEST, TEMPLATE = 300, 500, 150
FUNCTION, DOOR = 40, 25


def too_long(root: Path) -> list[str]:
    """Files and functions at or over the limit at which the build fails."""
    return [*_files(root), *_functions(root)]


def _files(root: Path) -> Iterator[str]:
    limits = dict.fromkeys(tree.sources(root), SOURCE)
    limits |= dict.fromkeys(tree.python(root, "tests"), TEST)
    limits |= dict.fromkeys(tree.templates(root), TEMPLATE)
    for place, limit in limits.items():
        lines = tree.text(root / place).count("\n")
        if lines >= limit:
            yield f"{place}: {lines} lines; under {limit} is the rule, so split it"


def _functions(root: Path) -> Iterator[str]:
    for place in tree.everything(root):
        is_door = place.parts[0] == "portal" and place.name in tree.DOORS
        limit = DOOR if is_door else FUNCTION
        for function in tree.functions(root / place):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines >= limit:
                yield f"{place}:{function.lineno}: {function.name} has {lines} lines; under {limit} is the rule"
