"""The pages of teams for administrators: their place in the tree, their quotas, their members."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from portal.accounts import forms, queries, roster, tree
from portal.accounts.may import PersonRequest, may
from portal.accounts.models import Team
from portal.errors import Refusal
from portal.journal.models import Entry
from portal.journal.queries import about
from portal.quotas import actions
from portal.quotas.forms import Shares, Surplus
from portal.quotas.models import Quota
from portal.quotas.queries import by_team, hardware, strains

EVENTS = 20


@may("people.change")
def new(request: PersonRequest) -> HttpResponse:
    """Make a team."""
    form = forms.NewTeam(request.POST if request.method == "POST" else None)
    if form.is_valid():
        name, above = form.cleaned_data["name"], form.cleaned_data["parent"]
        try:
            made = tree.make_team(name=name, parent=above, by=request.user, now=timezone.now())
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            messages.success(request, f"Team {made} is made. Add people, and quotas if it needs them.")
            return redirect("team", made.name)
    crumbs = [("People and teams", reverse("people")), ("New team", "")]
    return render(request, "quotas/team_new.html", {"now": timezone.now(), "form": form, "crumbs": crumbs})


@may("people.change")
def page(request: PersonRequest, name: str) -> HttpResponse:
    """A team with everything an administrator may change of it."""
    return _team(request, queries.team_named(name))


def _team(request: PersonRequest, team: Team, **more: Any) -> HttpResponse:
    kept, there = by_team(), hardware()
    nominal = {pk: {quota.gpu_type: quota.nominal for quota in each} for pk, each in kept.items()}
    own = {quota.gpu_type: quota.share for quota in kept.get(team.pk, ())}
    teams = list(Team.objects.all())
    context = {
        "now": timezone.now(), "team": team, "members": queries.members(team),
        "below": [one for one in teams if one.parent_id == team.pk],
        "move": forms.Parent(auto_id="parent-%s", initial={"parent": team.parent and team.parent.name}),
        "quota": Shares(types=_types(kept, there), shares=own, auto_id="quota-%s"),
        "quotas": kept.get(team.pk, ()), "there": there, "seen": actions.stamp(own),
        "surplus": Surplus(auto_id="surplus-%s", initial={"weight": team.weight, "priority": team.priority}),
        "seen_surplus": actions.surplus_stamp(team), "strains": strains(team, teams, nominal, there),
        "join": forms.Member(auto_id="join-%s"), "events": about(Entry.Kind.TEAM, team.pk)[:EVENTS],
        "crumbs": [("People and teams", reverse("people")), (team.name, "")],
    }  # fmt: skip
    return render(request, "quotas/team.html", context | more)


def _types(kept: dict[int, list[Quota]], there: dict[str, int]) -> list[str]:
    """Every type somebody has a quota of, and every type there is."""
    return sorted({quota.gpu_type for each in kept.values() for quota in each} | there.keys())


@may("people.change")
def parent(request: PersonRequest, name: str) -> HttpResponse:
    """Below another team, or to the top."""
    team = queries.team_named(name)
    if request.method != "POST":
        return redirect("team", name)
    form = forms.Parent(request.POST, auto_id="parent-%s")
    seen = request.POST.get("seen", "")
    if form.is_valid():
        try:
            moved = tree.move_team(
                team=team, parent=form.cleaned_data["parent"], by=request.user, now=timezone.now(),
                seen=int(seen) if seen.isdecimal() and len(seen) < 19 else None,
            )  # fmt: skip
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            messages.success(request, f"Team {team} is moved." if moved else "Nothing was different.")
            return redirect("team", name)
    return _team(request, queries.team_named(name), move=form)


@may("people.change")
def quotas(request: PersonRequest, name: str) -> HttpResponse:
    """How many GPUs of each type; what promises too much is said on the page, not refused."""
    team = queries.team_named(name)
    if request.method != "POST":
        return redirect("team", name)
    form = Shares(request.POST, types=_types(by_team(), hardware()), shares={}, auto_id="quota-%s")
    if form.is_valid():
        try:
            changed = actions.set_quotas(
                team=team, shares=form.shares, seen=request.POST.get("seen", ""),
                by=request.user, now=timezone.now(),
            )  # fmt: skip
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            messages.success(request, f"Quotas of {team} saved." if changed else "Nothing was different.")
            return redirect("team", name)
    return _team(request, team, quota=form)


@may("people.change")
def surplus(request: PersonRequest, name: str) -> HttpResponse:
    """Its part of what nobody was promised."""
    team = queries.team_named(name)
    if request.method != "POST":
        return redirect("team", name)
    form = Surplus(request.POST, auto_id="surplus-%s")
    if form.is_valid():
        try:
            changed = actions.set_surplus(
                team=team, weight=form.cleaned_data["weight"], priority=form.cleaned_data["priority"],
                seen=request.POST.get("seen", ""), by=request.user, now=timezone.now(),
            )  # fmt: skip
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            messages.success(request, f"Saved for {team}." if changed else "Nothing was different.")
            return redirect("team", name)
    return _team(request, queries.team_named(name), surplus=form)


@may("people.change")
def members(request: PersonRequest, name: str) -> HttpResponse:
    """Somebody into the team, with another role, or out of it."""
    team = queries.team_named(name)
    if request.method != "POST":
        return redirect("team", name)
    form = forms.Member(request.POST, auto_id="join-%s")
    who = queries.by_email(form.cleaned_data["email"]) if form.is_valid() else None
    if form.is_valid() and who is None:
        form.add_error("email", "Nobody has this e-mail; make the person first, or correct it.")
    if who is None:
        return _team(request, team, join=form)
    role = form.cleaned_data["role"]
    roster.set_membership(person=who, team=team, role=role or None, by=request.user, now=timezone.now())
    said = f"is {role} of {team}" if role else f"is not in {team} any more"
    messages.success(request, f"{who.full_name} {said}.")
    return redirect("team", name)
