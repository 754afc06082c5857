"""The pages about people: the door, one's own account, and everybody's for administrators."""

from django.http import HttpRequest, HttpResponse

from portal.accounts.may import PersonRequest, may


@may("account.sign_in")
def signin(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@may("account.sign_out")
def signout(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@may("account.see")
def account(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("account.password")
def password(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("token.make")
def tokens(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("token.revoke")
def token_revoke(request: PersonRequest, number: int) -> HttpResponse:
    return HttpResponse()


@may("people.list")
def people(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("people.change")
def person(request: PersonRequest, number: int, change: str) -> HttpResponse:
    return HttpResponse()
