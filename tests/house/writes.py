"""Rows change in one kind of place: a room's actions, and the cycle's apply."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house import rooms, tree

# These belong to query sets and models alone; `update` and `create` count only after `.objects`.
ALWAYS = {
    *("bulk_create", "bulk_update", "get_or_create", "update_or_create", "save", "asave", "abulk_create"),
    *("aget_or_create", "aupdate_or_create", "select_for_update"),
}
AFTER_OBJECTS = ALWAYS | {"create", "update", "delete", "acreate", "aupdate", "adelete"}


def writes(root: Path) -> list[str]:
    """Every write to the database from another place, as far as its shape gives it away."""
    return [
        f"{place}:{line}: {what} writes; that belongs into the room's actions.py"
        for place in rooms.modules(root)
        if rooms.kind(place) != rooms.WRITES
        for line, what in _written(root / place)
    ]


def _written(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree.parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            chain = tree.dotted(node.func)
            verb = node.func.attr
            if verb in ALWAYS or (verb in AFTER_OBJECTS and ".objects." in chain):
                yield node.lineno, chain
