"""Answers for pages that keep themselves current: the whole page, or only its live part when that changed."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_vary_headers

DIGEST = "Berth-Digest"
OVER = "Berth-Over"
AT = "Berth-At"


def answer(
    request: HttpRequest, page: str, part: str, context: Mapping[str, Any], *, over: bool = False
) -> HttpResponse:
    """One address, two renderings; the context has `now`. A poll that would change nothing gets 204.

    over=True says that nothing more will change, so that the page stops asking.
    """
    asked = getattr(request, "htmx", None)
    if asked and not asked.history_restore_request:
        response = _changed(request, render_to_string(part, dict(context), request))
    else:
        response = render(request, page, dict(context))
    if over:
        response.headers[OVER] = "1"
    # The server's clock, so that every time on the page is of one zone.
    response.headers[AT] = f"{timezone.localtime(context['now']):%H:%M:%S}"
    patch_vary_headers(response, ["HX-Request"])
    # The back button must bring neither a fragment nor the page of whoever was signed in before.
    response.headers["Cache-Control"] = "no-store"
    return response


def _changed(request: HttpRequest, html: str) -> HttpResponse:
    digest = hashlib.sha256(html.encode()).hexdigest()[:32]
    if request.headers.get(DIGEST) == digest:
        return HttpResponse(status=204, headers={DIGEST: digest})
    return HttpResponse(html, headers={DIGEST: digest})
