"""Words that say nothing, in the names of files, classes and functions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house import tree

EMPTY = {"util", "helper", "common", "misc", "base", "manager", "handler", "service", "info", "data"}
# Names that a framework calls: ours to write, not ours to choose.
FORCED = {"get_context_data"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def says_nothing(root: Path) -> list[str]:
    """Every name with a forbidden word in it."""
    return [*_file_names(root), *_code_names(root)]


def empty_words(name: str) -> set[str]:
    """`JobManagers` -> {"manager"}."""
    words = {word.lower() for word in WORD.findall(name)}
    return (words | {word.removesuffix("s") for word in words}) & EMPTY


def _file_names(root: Path) -> Iterator[str]:
    for place in tree.files(root):
        ours = place.parts[0] in {"portal", "scheduler", "tests", "templates", "static", "docs"}
        for part in place.with_suffix("").parts if ours and "vendor" not in place.parts else ():
            if empty := empty_words(part):
                yield f"{place}: `{', '.join(empty)}` in a file name says nothing"


def _code_names(root: Path) -> Iterator[str]:
    for place in tree.everything(root):
        for node in ast.walk(tree.parsed(root / place)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                empty = empty_words(node.name)
                # A test's name is a sentence about the world, and the world has services and data.
                if empty and node.name not in FORCED and not node.name.startswith("test_"):
                    yield f"{place}:{node.lineno}: `{', '.join(empty)}` in {node.name} says nothing"
