"""What one value of a JSON file may be, and the error that knows its path."""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import TypeVar

from scheduler.sim.files.cells import MOST, shown
from scheduler.sim.files.tracked import Path, Twice

T = TypeVar("T")
Read = Callable[[object, Path], T]


class Amiss(ValueError):
    """A value that cannot be: the way to it, and what to write instead."""

    def __init__(self, path: Path, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path


def needed(within: Mapping[str, object], path: Path, key: str, read: Read[T]) -> T:
    """The value of a key that must be there."""
    if within.get(key) is None:
        raise Amiss((*path, key), f"{key} is missing here; add it")
    return read(within[key], (*path, key))


def maybe(within: Mapping[str, object], path: Path, key: str, read: Read[T]) -> T | None:
    """The value of a key, or None where it is missing or null."""
    return None if within.get(key) is None else read(within[key], (*path, key))


def mapping(value: object, path: Path) -> dict[str, object]:
    """An object, in which each key stands once."""
    if isinstance(value, Twice):
        raise Amiss((*path, value.key), f"{value.key} stands twice in the same braces; take one of them out")
    if not isinstance(value, dict):
        raise Amiss(path, f"{_written(value)} is not an object; write {{...}}")
    return value


def sequence(value: object, path: Path) -> list[object]:
    """A list."""
    if not isinstance(value, list):
        raise Amiss(path, f"{_written(value)} is not a list; write [...]")
    return value


def name(value: object, path: Path) -> str:
    """A name that is not blank and can be printed in a sentence."""
    if not isinstance(value, str):
        raise Amiss(path, f"{_written(value)} is not a text; write it in double quotes")
    if not value.strip() or not value.isprintable():
        raise Amiss(path, f"{shown(value)} is no name; write one that can be printed")
    # A CSV file cannot tell a name with blanks around it from one without.
    return value.strip()


def label(value: object, path: Path) -> str:
    """A name that may be left blank."""
    return "" if isinstance(value, str) and not value.strip() else name(value, path)


def names(value: object, path: Path) -> frozenset[str]:
    """A list of names, whatever their order."""
    return frozenset(name(each, (*path, at)) for at, each in enumerate(sequence(value, path)))


def switch(value: object, path: Path) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Amiss(path, f"{_written(value)} is neither true nor false; write one of them without quotes")
    return value


def amount(value: object, path: Path) -> float:
    """A finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Amiss(path, f"{_written(value)} is not a number; write digits without quotes")
    if not isfinite(value):
        raise Amiss(path, f"{_written(value)} is not a finite number; no limit is null, or leaving it out")
    if value > MOST:
        raise Amiss(path, f"{_written(value)} is too large; the most is {MOST:,}")
    if value < 0:
        raise Amiss(path, f"{_written(value)} is negative; write 0 or more")
    return float(value) + 0.0


def whole(value: object, path: Path) -> int:
    """A whole number that is not negative."""
    found = amount(value, path)
    if found != int(found):
        raise Amiss(path, f"{_written(value)} is not a whole number; write one such as 8")
    return int(found)


def count(value: object, path: Path) -> int:
    """A whole number of at least one."""
    found = whole(value, path)
    if found == 0:
        raise Amiss(path, "0 is too small; write 1 or more")
    return found


def each_key_once(value: object, path: Path) -> None:
    """Refuse a key that stands twice, however deep."""
    if isinstance(value, dict):
        for key, inner in mapping(value, path).items():
            each_key_once(inner, (*path, key))
    if isinstance(value, list):
        for at, inner in enumerate(value):
            each_key_once(inner, (*path, at))


def _written(value: object) -> str:
    """A value as the file shows it."""
    match value:
        case str():
            return shown(value)
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return json.dumps(value)
