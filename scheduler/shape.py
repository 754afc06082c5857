"""Messages that check themselves: each field of a shape knows what it takes, and refuses the rest by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, fields
from typing import Any, Literal, Self

MAX_INT = 2**53 - 1  # what JSON numbers carry exactly everywhere
Code = Literal["malformed", "oversized", "unknown_node", "forged", "expired", "wrong_boot", "replayed"]
Check = Callable[[object, str], Any]  # a field's value and name -> the value to keep, or Refused


class Refused(Exception):
    """A message that must not be acted upon: a code for counting, a sentence for people."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


def whole(low: int = 0, high: int = MAX_INT) -> Check:
    def check(value: object, name: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise Refused("malformed", f"{name} must be a whole number from {low} to {high}.")

    return check


def number(low: float = 0.0, high: float = 1e12) -> Check:
    def check(value: object, name: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            return float(value)  # NaN is not between any two numbers
        raise Refused("malformed", f"{name} must be a number from {low:g} to {high:g}.")

    return check


def text(limit: int = 500, pattern: re.Pattern[str] | None = None) -> Check:
    def check(value: object, name: str) -> str:
        if not isinstance(value, str) or len(value) > limit or not value.isprintable():
            raise Refused("malformed", f"{name} must be one line of at most {limit} printable characters.")
        if pattern is not None and not pattern.fullmatch(value):
            raise Refused("malformed", f"{name} must look like {pattern.pattern}.")
        return value

    return check


def one_of(*words: str) -> Check:
    def check(value: object, name: str) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise Refused("malformed", f"{name} must be one of {', '.join(words)}.")

    return check


def flag(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise Refused("malformed", f"{name} must be true or false.")


def or_none(check: Check) -> Check:
    return lambda value, name: None if value is None else check(value, name)


def each(kind: type[Shape], limit: int, key: str | None = None) -> Check:
    """A list of `kind`, no two with the same `key`."""

    def check(value: object, name: str) -> tuple[Shape, ...]:
        if not isinstance(value, list | tuple) or len(value) > limit:
            raise Refused("malformed", f"{name} must be a list of at most {limit}.")
        items = tuple(kind.from_body(item, f"{name}[{i}]") for i, item in enumerate(value))
        if key is not None and len({getattr(item, key) for item in items}) < len(items):
            raise Refused("malformed", f"{name} must name each {key} once.")
        return items

    return check


def checked(check: Check, **default: Any) -> Any:
    """A dataclass field that knows how to check what a message says of it."""
    return field(metadata={"check": check}, **default)


class Shape:
    """What all messages and their parts share: each field checks itself."""

    __slots__ = ()

    @classmethod
    def from_body(cls, value: object, path: str = "") -> Self:
        if not isinstance(value, Mapping):
            raise Refused("malformed", f"{path or 'body'} must be an object.")
        dot = f"{path}." if path else ""
        known = {f.name: f.metadata["check"] for f in fields(cls)}  # type: ignore[arg-type]  # all are dataclasses
        return cls(**{name: check(value.get(name), dot + name) for name, check in known.items()})

    def to_body(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # all are dataclasses
