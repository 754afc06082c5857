"""Refusals: what the portal says when it will not do what was asked."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """A request that is understood and declined: a code for programs, a sentence for people."""

    status = 422
    code = "refused"

    def __init__(self, sentence: str, *, field: str = "", code: str = "", **facts: Any) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.field = field
        self.code = code or type(self).code
        self.facts: Mapping[str, Any] = facts


class NotFound(Refusal):
    """There is no such thing, or the asker may not know that there is."""

    status = 404
    code = "not_found"


class Forbidden(Refusal):
    """The thing is there, but not for this person."""

    status = 403
    code = "forbidden"


class Conflict(Refusal):
    """The thing changed meanwhile, or exists already in another form."""

    status = 409
    code = "conflict"
