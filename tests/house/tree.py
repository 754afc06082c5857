"""Walks a checkout: which files there are, of which kind, and what is written in them."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Where there is no git to ask: what tools leave behind.
LEAVINGS = {
    ".git",
    ".venv",
    ".state",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
}
DOORS = ("views.py", "api.py", "tasks.py")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files(root: Path) -> tuple[Path, ...]:
    """Every file that is, or is about to be, tracked; relative to the root."""
    return tuple(sorted(_asked_of_git(root) if (root / ".git").exists() else _walked(root)))


def _asked_of_git(root: Path) -> Iterator[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=30)
    if listed.returncode != 0:  # no git, or somebody else's checkout
        yield from _walked(root)
        return
    # A file that was just removed is still in the index.
    yield from (Path(name) for name in listed.stdout.split("\0") if name and (root / name).is_file())


def _walked(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        place = path.relative_to(root)
        if path.is_file() and not LEAVINGS & set(place.parts):
            yield place


def python(root: Path, *folders: str) -> list[Path]:
    """Modules that people write; migrations are written by Django."""
    return [
        place
        for place in files(root)
        if place.suffix == ".py" and place.parts[0] in folders and "migrations" not in place.parts
    ]


def sources(root: Path) -> list[Path]:
    """What is delivered."""
    return python(root, "portal", "scheduler", "manage.py")


def everything(root: Path) -> list[Path]:
    """What is delivered, with its tests."""
    return sources(root) + python(root, "tests")


def templates(root: Path) -> list[Path]:
    return [place for place in files(root) if place.parts[0] == "templates" and place.suffix == ".html"]


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text(path))


def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, Function)]


def dotted(node: ast.expr) -> str:
    """`a.b(c).d` -> "a.b.d": the names along a chain of attributes and calls."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case ast.Call(func=func):
            return dotted(func)
        case ast.Subscript(value=value):
            return dotted(value)
        case _:
            return ""
