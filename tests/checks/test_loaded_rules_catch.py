"""The rules about loaded code: addresses without a rule, reasons without a sentence."""

from enum import StrEnum
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from ninja import NinjaAPI

from portal.accounts.may import may, may_call
from scheduler.core.explain import sentence
from scheduler.core.reasons import Reason
from tests.house.doors import undeclared
from tests.house.wording import unworded


def open_to_all(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@may("home.see")
def declared(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def test_a_page_without_a_rule_is_found() -> None:
    inner = include(([path("open/", open_to_all), path("shut/", declared)], "inner"))
    assert undeclared([path("rooms/", inner)]) == ["/rooms/open/: open_to_all declares no rule"]


def test_an_endpoint_without_a_rule_is_found_beside_one_with_a_rule() -> None:
    api = NinjaAPI(urls_namespace="planted", docs_url=None, openapi_url=None)

    @api.get("/thing")
    @may_call("home.see")
    def see(request: HttpRequest) -> int:
        return 1

    @api.delete("/thing")
    def remove(request: HttpRequest) -> int:
        return 1

    (found,) = undeclared([path("api/", api.urls)])
    assert found.startswith("/api/thing: ")
    assert "remove declares no rule" in found


def test_an_api_that_describes_itself_to_all_without_a_rule_is_found() -> None:
    api = NinjaAPI(urls_namespace="described")
    assert len(undeclared([path("api/", api.urls)])) == 2  # the page and the document


class Longer(StrEnum):
    """A list with a reason that nobody worded."""

    FULL = "full"
    TIRED = "tired"


def test_a_reason_without_a_sentence_is_found() -> None:
    def worded(reason: Any, numbers: Any) -> str:
        return sentence(Reason(reason), numbers)

    found = unworded(Longer, worded)
    assert {line.split(":")[0] for line in found} == {"tired"}


def test_a_reason_with_half_a_sentence_is_found() -> None:
    assert len(unworded([Longer.FULL], lambda reason, numbers: "the pool is full")) == 2
