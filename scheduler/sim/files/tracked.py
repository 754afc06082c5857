"""JSON whose values know where they stand in the file: read fast, looked up only when something is wrong."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from math import inf

from scheduler.sim.files.bad import BadFile, spot

Step = str | int
Path = tuple[Step, ...]
_GAP = re.compile(r"[ \t\n\r]*")


class Twice(dict[str, object]):
    """An object in which one key stands twice; readers would differ on which of them counts."""

    key: str


def read(text: str, name: str) -> object:
    """Plain values of a JSON file."""
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_int=_integer)
    except json.JSONDecodeError as why:
        line, column = spot(text, why.pos)
        raise BadFile(
            name, line, column, f"this is not JSON ({why.msg}); mend it here or just before"
        ) from why
    except RecursionError as why:
        raise too_deep(name) from why


def too_deep(name: str) -> BadFile:
    """A file that no reader of JSON can follow."""
    return BadFile(name, 1, 1, "the values are nested too deeply; this is not a file of a replay")


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = Twice(found)
    twice.key = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return twice


def _integer(digits: str) -> int | float:
    # Python refuses to read thousands of digits; as infinity they are refused with a place.
    return int(digits) if len(digits) <= 30 else (-inf if digits[0] == "-" else inf)


_READER = json.JSONDecoder(parse_int=_integer)


def fault(text: str, name: str, path: Iterable[Step], sentence: str) -> BadFile:
    """What is wrong with the value at this path; with the nearest value around it, where the path leads nowhere."""
    text = text.removeprefix("\ufeff")
    return BadFile(name, *spot(text, _place(text, tuple(path))), sentence)


def _place(text: str, path: Path) -> int:
    at = _skip(text, 0)
    for step in path:
        inner = _in_list(text, at, step) if isinstance(step, int) else _in_object(text, at, step)
        if inner is None:
            return at
        at = inner
    return at


def _in_list(text: str, at: int, wanted: int) -> int | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    for _ in range(wanted):
        if text[at] == "]":
            return None
        at = _past(text, at)
    return None if text[at] == "]" else at


def _in_object(text: str, at: int, wanted: str) -> int | None:
    """The value of this key; the last one, as json takes it."""
    if text[at] != "{":
        return None
    at, found = _skip(text, at + 1), None
    while text[at] != "}":
        key, at = _READER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if key == wanted:
            found = at
        at = _past(text, at)
    return found


def _past(text: str, at: int) -> int:
    """Where the next value begins, or the bracket that ends the list or object."""
    _, at = _READER.raw_decode(text, at)
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at
