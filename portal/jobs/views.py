"""The pages about jobs: submitting, the list, one job with its log, and the queue."""

from django.http import HttpResponse

from portal.accounts.may import PersonRequest, may


@may("job.submit")
def submit(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("job.list")
def jobs(request: PersonRequest) -> HttpResponse:
    return HttpResponse()


@may("job.see")
def job(request: PersonRequest, number: int) -> HttpResponse:
    return HttpResponse()


@may("job.cancel")
def cancel(request: PersonRequest, number: int) -> HttpResponse:
    return HttpResponse()


@may("job.log")
def stream(request: PersonRequest, number: int) -> HttpResponse:
    return HttpResponse()


@may("job.log")
def log_text(request: PersonRequest, number: int) -> HttpResponse:
    return HttpResponse()


@may("queue.see")
def queue(request: PersonRequest) -> HttpResponse:
    return HttpResponse()
