"""Middleware: the content security policy of every page, and refusals turned into answers."""

import secrets
from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import sync_and_async_middleware
from django.utils.http import url_has_allowed_host_and_scheme

from portal.errors import NotFound, Refusal

POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "manifest-src 'self'"
)


def _stamp(response: HttpResponseBase, nonce: str) -> None:
    response.headers.setdefault("Content-Security-Policy", POLICY.format(nonce=nonce))
    response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")


@sync_and_async_middleware
def policy(get_response: Callable[..., object]) -> Callable[..., object]:
    """Give each request a nonce and each answer the policy that names it."""
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            request.csp_nonce = secrets.token_urlsafe(16)  # type: ignore[attr-defined]  # read by django_htmx
            response: HttpResponseBase = await get_response(request)
            _stamp(response, request.csp_nonce)  # type: ignore[attr-defined]  # set above
            return response

        return answer_later

    def answer(request: HttpRequest) -> HttpResponseBase:
        request.csp_nonce = secrets.token_urlsafe(16)  # type: ignore[attr-defined]  # read by django_htmx
        response: HttpResponseBase = get_response(request)  # type: ignore[assignment]  # typed for both kinds
        _stamp(response, request.csp_nonce)  # type: ignore[attr-defined]  # set above
        return response

    return answer


class Refusals:
    """A Refusal raised in a page becomes a page or a toast; the API words its own (portal/api.py)."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[..., object]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            from asgiref.sync import markcoroutinefunction

            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> object:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, refusal: Exception) -> HttpResponse | None:
        if not isinstance(refusal, Refusal):
            return None
        if isinstance(refusal, NotFound):
            return render(request, "errors/404.html", {"refusal": refusal}, status=404)
        came_from = request.headers.get("Referer", "")
        if request.method == "POST" and url_has_allowed_host_and_scheme(came_from, {request.get_host()}):
            messages.error(request, refusal.sentence)
            return redirect(came_from)
        return render(request, "errors/refused.html", {"refusal": refusal}, status=refusal.status)
