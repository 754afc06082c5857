"""Two decorators that hold every door to the table of rules: one for pages, one for the API."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from portal.accounts.models import Token, User
from portal.accounts.queries import Standing, standing
from portal.accounts.rules import RULES, Role, Rule
from portal.errors import Forbidden

FIRST_PASSWORD = "account.first_password"  # all that somebody may do whose password an administrator knows
CHANGE_FIRST = "change_password"
Door = TypeVar("Door", bound=Callable[..., Any])


class PersonRequest(HttpRequest):
    """A request that passed a door: somebody is signed in, and what they are is known."""

    user: User
    standing: Standing
    htmx: Any


def may(rule: str) -> Callable[[Door], Door]:
    """For a page. What depends on the thing asked for is checked by `request.standing.require`."""
    needs = RULES[rule]

    def hold(view: Door) -> Door:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if Role.ANYONE not in needs.roles:
                if not request.user.is_authenticated:
                    return _elsewhere(request, redirect_to_login(request.get_full_path()))
                if request.user.must_change_password and rule != FIRST_PASSWORD:
                    return _elsewhere(request, redirect("first-password"))
                _enter(request, request.user, needs, rule)
            return cast(HttpResponseBase, view(request, *args, **kwargs))

        return _marked(guarded, rule, view)

    return hold


def may_call(rule: str) -> Callable[[Door], Door]:
    """For an API endpoint: the identity was found by portal/api.py, a token also needs the scope."""
    needs = RULES[rule]

    def hold(endpoint: Door) -> Door:
        @wraps(endpoint)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            identity = getattr(request, "auth", None)
            if isinstance(identity, Token):
                if needs.scope not in identity.scopes:
                    raise Forbidden(
                        f"This token lacks the scope {needs.scope}; make one that has it.", code="scope"
                    )
                identity = identity.user
            if isinstance(identity, User):
                if identity.must_change_password and Role.ANYONE not in needs.roles:
                    raise Forbidden(
                        "Your password was made by an administrator; sign in and choose your own first.",
                        code=CHANGE_FIRST,
                    )
                _enter(request, identity, needs, rule)
            elif (Role.ANYONE if identity is None else Role.NODE) not in needs.roles:
                raise Forbidden("This is for people only.", rule=rule)
            return endpoint(request, *args, **kwargs)

        return _marked(guarded, rule, endpoint)

    return hold


def _enter(request: HttpRequest, user: Any, needs: Rule, rule: str) -> None:
    request.user = user
    request.standing = standing(user)  # type: ignore[attr-defined]  # PersonRequest has it from here on
    if not needs.about_a_team:
        request.standing.require(rule)  # type: ignore[attr-defined]  # set above


def _marked(door: Callable[..., Any], rule: str, _: Door) -> Door:
    door.berth_rule = rule  # type: ignore[attr-defined]  # tests/house demands one on every door
    return cast(Door, door)


def _elsewhere(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    if request.headers.get("HX-Request"):  # a poll of a page that is no longer theirs: move the whole page
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return answer
