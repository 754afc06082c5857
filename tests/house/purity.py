"""What each part of the scheduler may import and call: the core thinks, the replay pretends, the agent obeys."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.house import tree

ALLOWED = {
    ("scheduler", "core"): {"numpy", "scheduler.core"},
    ("scheduler", "sim"): {"numpy", "scheduler.core", "scheduler.sim"},
    ("scheduler", "agent"): {
        "celery",
        "kombu",
        "redis",
        "pynvml",
        "scheduler.agent",
        "scheduler.wire",
        "scheduler.shape",
    },
    ("scheduler", "wire.py"): {"scheduler.shape"},
    ("scheduler", "shape.py"): set[str](),
}
# Text comes in and goes out; files are the command's.
PURE = {("scheduler", "core"), ("scheduler", "sim")}
# Input, output and back doors that need no import; ruff bans the modules of the core.
IMPURE = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals"}


def impure(root: Path) -> list[str]:
    """Imports beyond the part's own list, and calls of the pure parts that reach outside."""
    found: list[str] = []
    for place in tree.python(root, "scheduler"):
        found += (f"{place}:{wrong}" for wrong in _strange_imports(root / place, place))
        if place.parts[:2] in PURE:
            found += (f"{place}:{wrong}" for wrong in _impure_calls(root / place))
    return found


def _strange_imports(path: Path, place: Path) -> Iterator[str]:
    allowed = ALLOWED.get(place.parts[:2])
    for line, module in _imports(path) if allowed is not None else ():
        ours = any(module == name or module.startswith(f"{name}.") for name in allowed or ())
        if not ours and module.split(".")[0] not in sys.stdlib_module_names:
            yield f"{line}: imports {module}; allowed are the standard library and {sorted(allowed or ())}"


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree.parsed(path)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module="scheduler", names=names):
                yield from ((node.lineno, f"scheduler.{name.name}") for name in names)
            case ast.ImportFrom(module=module):
                yield node.lineno, module or ""


def _impure_calls(path: Path) -> Iterator[str]:
    for node in ast.walk(tree.parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE:
            yield f"{node.lineno}: calls {node.func.id}(); core and replay do no input or output"
