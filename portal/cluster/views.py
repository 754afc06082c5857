"""The pages about machines: the map, one node, and what an administrator does to it."""

from django.http import HttpResponse

from portal.accounts.may import PersonRequest, may


@may("cluster.see")
def cluster(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("node.see")
def node(request: PersonRequest, name: str) -> HttpResponse:
    return HttpResponse()


@may("node.drain")
def drain(request: PersonRequest, name: str) -> HttpResponse:
    return HttpResponse()


@may("node.drain")
def resume(request: PersonRequest, name: str) -> HttpResponse:
    return HttpResponse()


@may("node.approve")
def approve(request: PersonRequest, name: str) -> HttpResponse:
    return HttpResponse()
