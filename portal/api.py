"""The API: its routers, who is asking, and every refusal as problem+json."""

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja import NinjaAPI, Router
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.security import HttpBearer, SessionAuth

from portal.accounts import actions, queries
from portal.accounts.api import router as accounts_router
from portal.accounts.may import may, may_call
from portal.accounts.models import Token
from portal.agents.api import router as agents_router
from portal.cluster.api import router as cluster_router
from portal.cycle.api import router as cycle_router
from portal.errors import NotFound, Refusal
from portal.jobs.api import router as jobs_router
from portal.quotas.api import router as quotas_router

MOST_ERRORS = 20  # of one request: a body full of misspelt fields gets no answer larger than itself


class Bearer(HttpBearer):
    """A person's API token."""

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        now = timezone.now()
        found = queries.token_of(token, now)
        if found is not None:
            actions.used(found, now=now)
        return found


def _described(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """The API's own pages: anyone may read them; Swagger styles itself inline, so these may."""

    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
            "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        return response

    return may("api.describe")(shown)


api = NinjaAPI(  # type: ignore[misc]  # its docs_decorator is typed for one kind of view only
    title="Berth",
    version="1",
    description="Submit jobs, follow them, and ask why they wait. The same rules as the pages.",
    auth=[Bearer(), SessionAuth()],
    docs_decorator=_described,
    urls_namespace="api",
)
api.add_router("", jobs_router)
api.add_router("", cluster_router)
api.add_router("", accounts_router)
api.add_router("", quotas_router)
api.add_router("", cycle_router)
api.add_router("/agent", agents_router)

nowhere = Router(auth=None)  # the last to be asked: what no other address answers


@nowhere.api_operation(
    ["GET", "POST", "PUT", "PATCH", "DELETE"], "/{path:rest}", url_name="nowhere", include_in_schema=False
)
@may_call("api.describe")
def _nowhere(request: HttpRequest, rest: str) -> HttpResponse:
    raise NotFound(f"The API has nothing at {rest[:100]!r}; /api/v1/docs lists what it has.")


api.add_router("", nowhere)


def problem(status: int, code: str, detail: str, **more: Any) -> HttpResponse:
    """RFC 9457: what is wrong, for programs and people, naming the field where there is one."""
    body = {
        "type": "about:blank",
        "title": code.replace("_", " "),
        "status": status,
        "code": code,
        "detail": detail,
    }
    text = json.dumps(body | {key: value for key, value in more.items() if value})
    return HttpResponse(text, status=status, content_type="application/problem+json")


@api.exception_handler(Refusal)
def _refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    return problem(refusal.status, refusal.code, refusal.sentence, field=refusal.field)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, invalid: ValidationError) -> HttpResponse:
    # The first part of the place says body, query or path, the second is our argument's name.
    errors = [
        {
            "field": ".".join(map(str, error["loc"][2 if error["loc"][0] == "body" else 1 :])),
            "detail": error["msg"],
        }
        for error in invalid.errors[:MOST_ERRORS]
    ]
    first = errors[0]
    return problem(
        422, "invalid", f"{first['field']}: {first['detail']}", field=first["field"], errors=errors
    )


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, _: AuthenticationError) -> HttpResponse:
    sentence = "Send a valid token as 'Authorization: Bearer …', or sign in."
    response = problem(401, "not_signed_in", sentence)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(HttpError)
def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Ninja itself says two things only: no JSON, and a write by a session without its CSRF token."""
    if error.status_code == 400:
        return problem(400, "not_json", "The body cannot be read as JSON; send one object, in UTF-8.")
    sentence = "The header X-CSRFToken is missing or wrong; send it, or use a token instead of the session."
    return problem(error.status_code, "csrf", sentence)


@api.exception_handler(Http404)
def _missing(request: HttpRequest, _: Http404) -> HttpResponse:
    return problem(404, "not_found", "There is nothing at this address.")


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, _: RequestDataTooBig) -> HttpResponse:
    return problem(413, "too_large", f"A request has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes.")
