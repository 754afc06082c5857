"""Every address, of a page or of the API, declares by its rule who may use it."""

from collections.abc import Callable, Iterable, Iterator
from inspect import getclosurevars
from typing import Any

from django.urls import URLPattern, URLResolver
from ninja.openapi.views import default_home
from ninja.operation import PathView

Entry = URLPattern | URLResolver


def undeclared(entries: Iterable[Entry], prefix: str = "/") -> list[str]:
    """Every address behind which somebody answers without a rule."""
    found: list[str] = []
    for entry in entries:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found += undeclared(entry.url_patterns, route)
        else:
            found += (f"{route}: {who} declares no rule" for who in _ruleless(entry.callback))
    return list(dict.fromkeys(found))  # ninja writes an address once for each of its methods


def _ruleless(callback: Any) -> Iterator[str]:
    if getattr(callback, "func", None) is default_home:  # ninja's root, which answers everyone with 404
        return
    for answers in _answering(callback):
        if not getattr(answers, "berth_rule", None):
            yield getattr(answers, "__qualname__", repr(answers))


def _answering(callback: Any) -> list[Callable[..., Any]]:
    """The view itself, or the operations that ninja gathers behind one address."""
    path_view = getclosurevars(callback).nonlocals.get("self") if hasattr(callback, "__closure__") else None
    if isinstance(path_view, PathView):
        return [operation.view_func for operation in path_view.operations]
    return [callback]
