"""Time is an argument: in the portal's rooms only the doors look at a clock."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house import rooms, tree

READS = (
    *("timezone.now", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
    *("time.time", "time.time_ns"),
)
BARE = ("timezone.localtime", "timezone.localdate")  # they read the clock when they get no argument
IMPORTS = {
    ("django.utils.timezone", "now"),
    ("django.db.models.functions", "Now"),
    ("time", "time"),
    ("time", "time_ns"),
}


def looks_at_clock(root: Path) -> list[str]:
    """Every reading of a clock in a room, outside its doors; also as a field's default."""
    return [
        f"{place}:{line}: reads the clock by {what}; take `now` as an argument"
        for place in rooms.modules(root)
        if rooms.kind(place) != rooms.DOOR
        for line, what in _readings(root / place)
    ]


def _readings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree.parsed(path)):
        match node:
            case ast.Attribute():
                if f".{tree.dotted(node)}".endswith(tuple(f".{name}" for name in READS)):
                    yield node.lineno, tree.dotted(node)
            case ast.Call(func=ast.Attribute() as func, args=[]) if tree.dotted(func) in BARE:
                yield node.lineno, tree.dotted(func)
            case ast.ImportFrom(module=module, names=names):
                yield from ((node.lineno, n.name) for n in names if (module, n.name) in IMPORTS)
