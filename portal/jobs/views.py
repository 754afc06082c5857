"""The pages about jobs: submitting, the list, one job with its log, and the queue."""

import secrets
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from portal import streams
from portal.accounts.may import PersonRequest, may
from portal.accounts.models import Team
from portal.cluster.queries import gpu_types
from portal.cycle import actions as cycle
from portal.errors import Conflict, NotFound, Refusal
from portal.home.live import answer
from portal.jobs import actions, capacity, follow, listing, order, queries, story
from portal.jobs.download import Download
from portal.jobs.forms import FilterForm, SubmitForm, cloned
from portal.jobs.models import Job, Run
from portal.jobs.outlook import asked, outlook
from portal.jobs.portrait import Portrait, rank_of


@may("job.submit")
@require_http_methods(["GET", "POST"])
def submit(request: PersonRequest) -> HttpResponse:
    """The form; it comes back with what was typed until the request is accepted."""
    teams = queries.submitting_teams(request.standing)
    if not teams:
        return render(request, "jobs/teamless.html", {"now": timezone.now()})
    origin = _origin(request)
    start = {"team": teams[0].name, "key": secrets.token_urlsafe(16)} | (cloned(origin) if origin else {})
    if start["team"] not in {team.name for team in teams}:
        start["team"] = teams[0].name  # a job of a team that only its members may submit for
    sent = request.POST if request.method == "POST" else None
    form = SubmitForm(sent, teams=teams, types=gpu_types(), initial=start)
    if sent is not None and "figures" not in sent and form.is_valid():
        job = _submitted(request, form, origin)
        if job is not None:
            messages.success(request, f"Submitted as job {job.pk}.")
            return redirect("job", job.pk)
    return _form(request, form, teams, origin)


def _submitted(request: PersonRequest, form: SubmitForm, origin: Job | None) -> Job | None:
    ask = form.ask(cloned_from=origin.pk if origin else None)
    try:
        request.standing.require("job.submit", team_id=ask.team.pk)
        return cycle.submit(ask=ask, by=request.user, now=timezone.now(), key=form.cleaned_data["key"])
    except Conflict as changed:
        # Back, changed and sent again: that is a second job, but not without being asked for.
        sentence = (
            f"This form was sent before, as job {changed.facts.get('job')}. Send it again for another job."
        )
        form.renew_key(secrets.token_urlsafe(16))
        form.refuse(Refusal(sentence))
    except Refusal as refusal:
        form.refuse(refusal)
    return None


def _origin(request: PersonRequest) -> Job | None:
    """The job a form starts from, if the person may see it."""
    number = (request.POST if request.method == "POST" else request.GET).get("clone", "")
    if not number:
        return None
    if not listing.is_number(number):
        raise NotFound("There is no such job to clone.")
    return queries.job_for(request.standing, "job.log", int(number))


def _form(request: PersonRequest, form: SubmitForm, teams: list[Team], origin: Job | None) -> HttpResponse:
    now = timezone.localtime()
    told = {name: form[name].value() for name in form.fields}
    team = next((one for one in teams if one.name == told["team"]), teams[0])
    context: dict[str, Any] = {
        "now": now, "form": form, "origin": origin, "team": team,
        "outlook": outlook(asked(told), team, now=now),
    }  # fmt: skip
    if request.htmx:
        return render(request, "jobs/_outlook.html", context)
    context["last"] = queries.last_of(request.user)
    failed = request.method == "POST" and "figures" not in request.POST
    if "figures" in request.POST:
        form.errors.clear()  # nothing was asked of the form yet
    return render(request, "jobs/submit.html", context, status=422 if failed else 200)


PHASES = [("", "All"), (listing.NOT_OVER, "Not over"), *Job.Phase.choices]


@may("job.list")
@require_GET
def jobs(request: PersonRequest) -> HttpResponse:
    """The jobs of one's teams, newest first; every filter stands in the address."""
    teams = sorted(queries.seen_teams(request.standing))
    form = FilterForm(request.GET, teams=teams, types=gpu_types())
    wanted = form.wanted()
    found = wanted["q"].removeprefix("#")
    if listing.is_number(found) and not request.htmx:
        one = queries.seen_by(request.standing).filter(pk=int(found)).first()
        if one is not None:
            return redirect("job", one.pk)
    page = listing.page(
        request.standing, wanted, after_=request.GET.get("after", ""), before_=request.GET.get("before", "")
    )
    context = {"now": timezone.localtime(), "form": form, "wanted": wanted, "page": page, "phases": PHASES}
    return answer(request, "jobs/jobs.html", "jobs/_jobs.html", context)


@may("job.see")
@require_GET
def job(request: PersonRequest, number: int) -> HttpResponse:
    """One job: how far it is, why it waits, where it runs, what it prints and costs."""
    found = queries.job_for(request.standing, "job.see", number)
    portrait = Portrait(found, request.standing, request.GET, now=timezone.localtime())
    portrait.run  # noqa: B018  a run that is not there is a 404, not half a page
    context = {"now": portrait.now, "job": found, "p": portrait, "whole": not request.htmx}
    return answer(request, "jobs/job.html", "jobs/_job.html", context, over=found.is_over)


@may("job.cancel")
@require_http_methods(["GET", "POST"])
def cancel(request: PersonRequest, number: int) -> HttpResponse:
    """Really? And then it stops. What it printed and cost is kept."""
    found = queries.job_for(request.standing, "job.cancel", number)
    page = reverse("job", args=[number])
    if request.method == "POST":
        actions.cancel(job=found, by=request.user, now=timezone.now())
        messages.success(request, f"Job {number} is cancelled; what it printed and cost is kept.")
        return redirect(page)
    if found.is_over:
        raise Conflict(f"Job {number} is over already; there is nothing left to cancel.")
    context = {
        "now": timezone.localtime(), "job": found, "back": page, "address": request.path, "yes": "Cancel job",
        "question": f"Cancel job {number}?", "text": story.cancel_says(found), "no": "Keep it",
    }  # fmt: skip
    return render(request, "jobs/cancel.html", context)


def _run(request: PersonRequest, number: int) -> tuple[Job, Run]:
    """The run whose log is asked for, if the person may read it."""
    found = queries.job_for(request.standing, "job.log", number)
    run = story.chosen(found, story.runs_of(found), request.GET.get("run", ""))
    if run is None:
        raise NotFound(f"Job {number} has not run yet, so it has no log.")
    return found, run


@may("job.log")
@require_GET
def stream(request: PersonRequest, number: int) -> HttpResponseBase:
    """The log as it grows, as server-sent events."""
    found, run = _run(request, number)
    after = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    reader = follow.Reader(
        run.pk, rank=rank_of(request.GET), after=int(after) if listing.is_number(after) else 0
    )
    return streams.follow(request, follow.Follower(found, run, reader, timezone.now, timezone.now()))


@may("job.log")
@require_GET
def log_text(request: PersonRequest, number: int) -> HttpResponseBase:
    """The log to keep: the whole of it, but for what was let go."""
    _, run = _run(request, number)
    rank = rank_of(request.GET)
    name = f"job-{number}-run-{run.epoch}{'' if rank is None else f'-rank-{rank}'}.txt"
    return streams.text(Download(run.pk, rank), name=name)


WHO = ("all", "teams", "mine")


@may("queue.see")
@require_GET
def queue(request: PersonRequest) -> HttpResponse:
    """Everything that waits, in the planner's order, and what holds GPUs now."""
    now = timezone.localtime()
    who, begin = request.GET.get("who", "all"), request.GET.get("begin", "0")
    if who not in WHO or not listing.is_number(begin):
        raise Refusal(f"The queue shows one of: {', '.join(WHO)}, from a place on.", field="who")
    found = order.queue(request.standing, who=who, begin=int(begin), now=now)
    counts = found.counts
    chips = [
        ("", "All", counts["all"]),
        ("teams", "My teams", counts["teams"]),
        ("mine", "Mine", counts["mine"]),
    ]
    chosen = "" if who == "all" else who
    context = {"now": now, "queue": found, "who": chosen, "chips": chips, "rooms": capacity.rooms(now=now)}
    return answer(request, "jobs/queue.html", "jobs/_queue.html", context)
