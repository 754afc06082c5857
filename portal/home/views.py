"""The home page, and the address that says the portal is alive."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from portal.accounts.may import PersonRequest, may
from portal.cycle import watch
from portal.home import asks, charts, queries, spending
from portal.home.live import answer
from portal.jobs.capacity import levels, rooms
from portal.jobs.models import Job
from portal.jobs.queries import costs
from portal.jobs.waits import Wait, waits_of
from portal.showback.pricing import Bill

SHOWN_ASKS = 6


@may("portal.alive")
def alive(request: HttpRequest) -> HttpResponse:
    """200 when pages can be served: the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("alive\n", content_type="text/plain")


@may("home.see")
def home(request: PersonRequest) -> HttpResponse:
    """What its reader came for, by role: what needs them, their jobs, their quota, free GPUs, money."""
    now = timezone.now()
    free = rooms(now=now)
    found = _asks(request, now)
    teams = levels(queries.teams_to_show(request.standing))
    context = {
        "now": now, "asks": found[:SHOWN_ASKS], "more": len(found) - SHOWN_ASKS, "rooms": free,
        "free": sum(room.free for room in free), "total": sum(room.gpus + room.out for room in free),
        "out": sum(room.out for room in free), "busy": sum(room.gpus - room.free for room in free),
        "headline": asks.headline(len(found)) if found else "",
        "largest": ", ".join(f"{room.largest} {room.gpu_type}" for room in free if room.largest),
        "quotas": charts.quota_bars(level for each in teams.values() for level in each),
        "deaf": request.user.is_administrator and bool(free) and watch.silence_is_ours(now=now),
    }  # fmt: skip
    context |= _work(request, now) | _money(request, now)
    return answer(request, "home/home.html", "home/_home.html", context)


@may("home.see")
def sections(request: PersonRequest) -> HttpResponse:
    """The side bar's links with their counts, for a page that stays open; it is no page of its own."""
    if not request.htmx:
        return redirect("home")
    return answer(request, "", "home/_sections.html", {"now": timezone.now()})


def _asks(request: PersonRequest, now: datetime) -> list[asks.Ask]:
    nodes = queries.nodes_in_need(now=now) if request.standing.may("node.approve") else ()
    return asks.of_nodes(nodes, now=now) + asks.of_failures(queries.failures(request.user, now=now))


def _work(request: PersonRequest, now: datetime) -> dict[str, Any]:
    """The jobs that are not over: one's own, or with ?whose=team all that one may see."""
    own = bool(request.standing.member_of | request.standing.lead_of)
    of_team = request.GET.get("whose", "" if own else "team") == "team"
    found = queries.live_jobs(request.standing, of_team=of_team)
    jobs = list(found[: queries.JOBS_SHOWN])
    bills, places = costs([job.pk for job in jobs], now=now), queries.places(jobs)
    waits = waits_of(jobs, request.standing, now=now)
    return {
        "whose": "team" if of_team else "mine", "totals": queries.totals(found), "may_submit": own,
        "lines": [
            _line(job, bills.get(job.pk, Bill()), places.get(job.pk, []), waits.get(job.pk)) for job in jobs
        ],
        "again": queries.start_again(request.user),
    }  # fmt: skip


def _line(job: Job, bill: Bill, nodes: list[str], wait: Wait | None) -> dict[str, Any]:
    # A job that waits again began once, but that run is over.
    began: datetime | None = None if wait else getattr(job, "began_at", None)
    return {
        "job": job, "bill": bill, "nodes": nodes, "began": began, "why": wait.sentence if wait else "",
        "ends": began + timedelta(seconds=job.limit_s) if began and job.limit_s else None,
    }  # fmt: skip


def _money(request: PersonRequest, now: datetime) -> dict[str, Any]:
    """This month so far: everybody's for finance, one's own for everybody else."""
    begin = spending.month_of(timezone.localtime(now))
    everybody = request.user.is_finance
    each = spending.spent(begin=begin, now=now, user=None if everybody else request.user)
    return {
        "month": begin, "everybody": everybody, "sum": spending.total(each),
        "spent": charts.spent_bars(each) if everybody else [],
    }  # fmt: skip
