"""Every door of the portal, found by walking its addresses: pages, and the operations of the API."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import getclosurevars
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from ninja.openapi.views import default_home
from ninja.operation import PathView

from portal.accounts.rules import RULES, Rule


@dataclass(frozen=True)
class Door:
    """One address and method; `rule` is the line of the table that its view declares."""

    method: str
    route: str
    name: str = field(compare=False)  # ninja names an address once for each of its methods
    rule: str
    kwargs: tuple[str, ...]

    @property
    def is_api(self) -> bool:
        return self.route.startswith("api/")

    @property
    def needs(self) -> Rule:
        assert self.rule, f"{self.route} declares no rule; put @may or @may_call with one on it"
        assert self.rule in RULES, f"{self.route} asks for {self.rule}, of which the table says nothing"
        return RULES[self.rule]

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def doors() -> list[Door]:
    """All of them; a page is tried by GET and by POST, whatever it says."""
    return list(dict.fromkeys(_within(get_resolver().url_patterns, "", ())))


def _within(entries: Iterable[Any], prefix: str, above: tuple[str, ...]) -> Iterator[Door]:
    for entry in entries:
        route = prefix + str(entry.pattern)
        kwargs = (*above, *entry.pattern.converters)
        if isinstance(entry, URLResolver):
            yield from _within(entry.url_patterns, route, kwargs)
        elif isinstance(entry, URLPattern) and getattr(entry.callback, "func", None) is not default_home:
            for method, view in _answering(entry.callback):
                yield Door(method, route, entry.name or "", getattr(view, "berth_rule", ""), kwargs)


def _answering(callback: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    inside = getclosurevars(callback).nonlocals.get("self") if hasattr(callback, "__closure__") else None
    if isinstance(inside, PathView):
        for operation in inside.operations:
            yield from ((method, operation.view_func) for method in operation.methods)
    else:
        yield from ((method, callback) for method in ("GET", "POST"))
