"""The home page, and the address that says the portal is alive."""

from django.db import connection
from django.http import HttpRequest, HttpResponse

from portal.accounts.may import PersonRequest, may


@may("portal.alive")
def alive(request: HttpRequest) -> HttpResponse:
    """200 when pages can be served: the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("alive\n", content_type="text/plain")


@may("home.see")
def home(request: PersonRequest) -> HttpResponse:
    return HttpResponse()
