"""The pages about machines: the map, one node, and what an administrator does to it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from portal.accounts.may import PersonRequest, may
from portal.accounts.queries import Standing
from portal.agents.queries import refused
from portal.cluster import actions, cells, charts, forms, hardware, queries
from portal.cluster.models import Node
from portal.cycle import watch
from portal.cycle.actions import declare_lost, expel
from portal.errors import Conflict
from portal.home.live import answer
from portal.jobs.models import Job
from portal.jobs.queries import jobs_on
from portal.journal.models import Entry
from portal.journal.queries import about
from portal.telemetry import charts as curves
from portal.telemetry.queries import means
from scheduler.wire import digest, inventory_digest

VIEWS = ("map", "table")
COLOURS = {"team": cells.by_team, "state": cells.by_state}
SHOWN = ("all", "look", "free")
REFUSED_FOR = timedelta(hours=1)
EVENTS = 30


@may("cluster.see")
def cluster(request: PersonRequest) -> HttpResponse:
    """Every node and GPU, as a map or as a table."""
    now = timezone.now()
    nodes = list(queries.approved())
    view, colour = _one_of(request, "view", VIEWS), _one_of(request, "colour", tuple(COLOURS))
    shown = _one_of(request, "show", SHOWN)
    picture = charts.picture(nodes, _holders(request, nodes), now=now, colour=COLOURS[colour])
    pending = queries.pending() if request.standing.may("node.approve") else []
    context = {
        "now": now, "view": view, "colour": colour, "show": shown, "picture": picture,
        "lines": _chosen(picture.lines, shown), "heard": charts.heard(picture.lines, now),
        "looks": sum(line.needs_a_look for line in picture.lines),
        "roomy": sum(line.free > 0 for line in picture.lines),
        "pending": [_asking(node) for node in pending],
    }  # fmt: skip
    return answer(request, "cluster/cluster.html", "cluster/_cluster.html", context | _warnings(nodes, now))


def _asking(node: Node) -> dict[str, Any]:
    """A node that wants in; the digest ties a click to what was shown."""
    reported = node.hardware_reported
    return {"node": node, "hardware": hardware.described(reported), "shown": digest(reported)}


def _one_of(request: PersonRequest, name: str, words: tuple[str, ...]) -> str:
    """The parameter if it is one of these, else the first of them."""
    asked = request.GET.get(name, "")
    return asked if asked in words else words[0]


def _chosen(lines: list[cells.Line], show: str) -> list[cells.Line]:
    wanted = {"look": lambda line: line.needs_a_look, "free": lambda line: line.free > 0}
    return [line for line in lines if wanted[show](line)] if show in wanted else lines


def _warnings(nodes: list[Node], now: datetime) -> dict[str, Any]:
    """What everybody must know before they believe the map."""
    homes = {node.pool.cluster_id: node.pool.cluster for node in nodes}
    silent = [(home, watch.braked(home, now=now)) for home in homes.values()]
    ready = [node for node in nodes if node.state(now) == Node.State.READY]
    return {
        "homes": sorted(home.name for home in homes.values()),
        "deaf": bool(nodes) and watch.silence_is_ours(now=now),
        "braked": [(home, number) for home, number in silent if number],
        "open_nodes": [node.name for node in ready if not node.isolated],
    }


def _holders(request: PersonRequest, nodes: Iterable[Node]) -> dict[int, cells.Holder]:
    held = jobs_on([node.pk for node in nodes])
    return {gpu: _holder(request.standing, job) for gpu, job in held.items()}


def _holder(standing: Standing, job: Job) -> cells.Holder:
    seen = standing.may("job.see", team_id=job.team_id, owner_id=job.user_id)
    return cells.Holder(
        job=job.pk, team=job.team.name, kind=job.team.kind, tier=job.tier, gpus=job.gpus, phase=job.phase,
        mine=job.user_id == standing.user.pk, name=job.name if seen else "",
    )  # fmt: skip


@may("node.see")
def node(request: PersonRequest, name: str) -> HttpResponse:
    """One node: how it is, what it has, who holds it, what it measured."""
    now = timezone.now()
    found = queries.node_named(name)
    holders = _holders(request, [found])
    line = cells.line(found, holders, now=now)
    gpus = cells.gpus(line, holders)
    context = {
        "now": now, "node": found, "line": line,
        "late": line.late, "gpus": gpus, "jobs": cells.jobs(holders.values()),
        "hardware": hardware.described(found.hardware or found.hardware_reported),
        "trespass": cells.trespass(found), "findings": found.latest.get("findings", []),
        "refused": refused(found.name, now - REFUSED_FOR),
        "events": about(Entry.Kind.NODE, found.pk)[:EVENTS],
        "may_drain": request.standing.may("node.drain") and found.approved_at is not None,
        "may_approve": request.standing.may("node.approve"),
        "crumbs": [("Cluster", reverse("cluster")), (found.name, "")],
    }  # fmt: skip
    return answer(request, "cluster/node.html", "cluster/_node.html", context | _curves(request, gpus, now))


def _curves(request: PersonRequest, gpus: list[cells.GpuLine], now: datetime) -> dict[str, Any]:
    """The last hour of one measure, for every GPU."""
    measure = curves.MEASURES[_one_of(request, "measure", tuple(curves.MEASURES))]
    slots = {one.gpu.pk: one.gpu.slot for one in gpus}
    begin = curves.hour(now)
    rows = means(slots, begin=begin, step=curves.STEP)
    installed = max((one.gpu.memory_mib for one in gpus), default=0) if measure.unit == "GB" else 0
    top = curves.scale(rows, measure, installed)
    drawn = curves.multiples(rows, slots, measure, begin=begin, top=top)
    newest = {one.gpu.pk: measure.write(getattr(one, measure.field)) for one in gpus}
    return {
        "measure": measure, "measures": curves.MEASURES.values(), "begin": begin, "top": measure.write(top),
        "readings": _one_of(request, "readings", ("chart", "table")), "slots": list(slots.values()),
        "multiples": [(one, newest.get(one.gpu, "")) for one in drawn],
        "table": curves.table(rows, slots, measure),
    }  # fmt: skip


@may("node.drain")
def drain(request: PersonRequest, name: str) -> HttpResponse:
    """Take a node out of service, saying why; what runs there may finish."""
    found = queries.node_named(name)
    form = forms.Drain(request.POST if request.method == "POST" else None)
    if form.is_valid():
        actions.drain(node=found, by=request.user, reason=form.cleaned_data["reason"], now=timezone.now())
        messages.success(request, f"{found.name} is drained: nothing new starts there.")
        return redirect("node", found.name)
    jobs = cells.jobs(_holders(request, [found]).values())
    return render(request, "cluster/drain.html", {
        "now": timezone.now(), "node": found, "form": form, "jobs": jobs,
        "crumbs": [*_crumbs(found), ("Drain", "")],
    })  # fmt: skip


def _crumbs(found: Node) -> list[tuple[str, str]]:
    return [("Cluster", reverse("cluster")), (found.name, reverse("node", args=[found.name]))]


@may("node.drain")
def resume(request: PersonRequest, name: str) -> HttpResponse:
    """Back in service."""
    found = queries.node_named(name)
    if request.method == "POST":
        actions.resume(node=found, by=request.user, now=timezone.now())
        messages.success(request, f"{found.name} is back in service.")
        return redirect("node", found.name)
    return _really(
        request, found, f"Resume {found.name}?",
        text=f"Jobs start there again. It was drained for: {found.drain_reason}",
        yes="Resume node", no="Leave it drained",
    )  # fmt: skip


@may("node.drain")
def lose(request: PersonRequest, name: str) -> HttpResponse:
    """Do not wait for a silent node any longer: what ran there starts again elsewhere."""
    found = queries.node_named(name)
    if request.method == "POST":
        declare_lost(node=found, by=request.user, now=timezone.now())
        messages.success(request, f"{found.name} is lost: its jobs start again elsewhere.")
        return redirect("node", found.name)
    return _really(
        request, found, f"Declare {found.name} lost?",
        text="Its jobs start again on other nodes. Declare it only if you know that it is down: should it still "
        "run them, they are stopped when it comes back, and what they did since then is lost.",
        yes="Declare it lost", no="Wait for it",
    )  # fmt: skip


@may("node.approve")
def put_out(request: PersonRequest, name: str) -> HttpResponse:
    """Refuse a node that asks to join, or put one out that is in."""
    found = queries.node_named(name)
    if request.method == "POST":
        expel(node=found, by=request.user, now=timezone.now())
        messages.success(request, f"{found.name} is out: its keys open nothing any more.")
        return redirect("node", found.name)
    return _really(
        request, found, f"Put {found.name} out?",
        text="Its keys stop working at once, and jobs that run there start again elsewhere. It stays out, also "
        "with a join token, until an administrator approves it again. Its history and its bills are kept.",
        yes="Put node out", no="Leave it as it is",
    )  # fmt: skip


def _really(request: PersonRequest, found: Node, question: str, **words: str) -> HttpResponse:
    """The page that asks before something is done to a node; it works without scripts."""
    context = {
        "now": timezone.now(),
        "question": question,
        "address": request.path,
        "back": reverse("node", args=[found.name]),
        "crumbs": [*_crumbs(found), (words["yes"], "")],
    }
    return render(request, "confirm.html", context | words)


@may("node.approve")
def approve(request: PersonRequest, name: str) -> HttpResponse:
    """Let a node in, or accept that it changed; the page shows what it reports first."""
    found = queries.node_named(name)
    shown = digest(found.hardware_reported)
    if request.method == "POST":
        if request.POST.get("shown") != shown:
            raise Conflict(f"{found.name} has reported other hardware meanwhile; look at it again.")
        actions.approve(node=found, by=request.user, now=timezone.now())
        messages.success(request, f"{found.name} is approved with the hardware it reports.")
        return redirect("node", found.name)
    return render(request, "cluster/approve.html", {
        "now": timezone.now(), "node": found, "hardware": hardware.described(found.hardware_reported),
        "changes": hardware.changes(found.hardware, found.hardware_reported),
        "shown": shown, "untold": found.hardware_seen not in ("", inventory_digest(found.hardware_reported)),
        "crumbs": [*_crumbs(found), ("Approve", "")],
    })  # fmt: skip
