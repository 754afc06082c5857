"""Every reason why a job may wait has its sentence."""

from collections.abc import Callable, Iterable
from typing import Any


class Anything(int):
    """A value that passes for a number, a name and a moment."""

    def __str__(self) -> str:
        return "2026-11-18T09:00:00+00:00"


class Numbers(dict[str, Any]):
    """Answers every question about the numbers of a verdict; `has` says whether optional ones are there."""

    def __init__(self, has: bool) -> None:
        super().__init__()
        self.has = has

    def __missing__(self, key: str) -> Anything:
        return Anything(2)

    def __contains__(self, key: object) -> bool:
        return self.has


def unworded(reasons: Iterable[Any], sentence: Callable[[Any, Any], str]) -> list[str]:
    """Reasons for which no whole sentence comes back."""
    return [
        f"{reason}: {said!r}"
        for reason in reasons
        for has in (True, False)
        if (said := _said(reason, sentence, has))
    ]


def _said(reason: Any, sentence: Callable[[Any, Any], str], has: bool) -> str:
    try:
        said = sentence(reason, Numbers(has))
    except (AssertionError, KeyError, TypeError, ValueError) as why:
        return f"{type(why).__name__}: {why}"
    whole = isinstance(said, str) and said[:1] == said[:1].upper() and (said.endswith(".") or "was: " in said)
    return "" if whole else f"not a sentence: {said}"
