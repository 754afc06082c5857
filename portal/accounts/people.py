"""A door: the pages on which administrators make and change people, and where a first password is changed."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from portal.accounts import actions, forms, queries, roster
from portal.accounts.may import PersonRequest, may
from portal.accounts.models import User
from portal.errors import Refusal
from portal.journal.models import Entry
from portal.journal.queries import about

EVENTS = 20


@may("account.first_password")
def first_password(request: PersonRequest) -> HttpResponse:
    """The only page for somebody whose password an administrator knows, until they have their own."""
    if not request.user.must_change_password:
        return redirect("account")
    form = forms.ChangePassword(request.POST if request.method == "POST" else None)
    if form.is_valid():
        old, new = form.cleaned_data["old"], form.cleaned_data["new"]
        try:
            actions.change_password(user=request.user, old=old, new=new, now=timezone.now())
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            update_session_auth_hash(request, request.user)
            messages.success(request, "Your password is changed. Only you know it now.")
            return redirect("home")
    return render(request, "accounts/first_password.html", {"form": form})


@may("people.change")
def new(request: PersonRequest) -> HttpResponse:
    """Make a person; the answer shows their first password, which stands nowhere else."""
    form = forms.NewPerson(request.POST if request.method == "POST" else None)
    if form.is_valid():
        asked = form.cleaned_data
        place = (asked["team"], asked["role"]) if asked["team"] else None
        try:
            made, password = roster.make_person(
                email=asked["email"], full_name=asked["full_name"], roles=set(asked["roles"]), place=place,
                by=request.user, now=timezone.now(),
            )  # fmt: skip
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            return _shown_once(request, made, password, new=True)
    crumbs = [("People and teams", reverse("people")), ("New person", "")]
    context = {"now": timezone.now(), "form": form, "crumbs": crumbs}
    return render(request, "accounts/person_new.html", context)


def _shown_once(request: PersonRequest, who: User, secret: str, **more: Any) -> HttpResponse:
    crumbs = [("People and teams", reverse("people")), (who.full_name, _page(who)), ("First password", "")]
    context = {"now": timezone.now(), "who": who, "secret": secret, "crumbs": crumbs}
    response = render(request, "accounts/person_password.html", context | more)
    response.headers["Cache-Control"] = "no-store"
    return response


@may("people.change")
def page(request: PersonRequest, number: int) -> HttpResponse:
    """A person: name, roles and teams to change, and what happened to them."""
    who = queries.person(number)
    own = who.pk == request.user.pk
    if request.method != "POST":
        return _person(request, who)
    form = forms.Person(request.POST, own=own)
    if form.is_valid():
        roles = set(form.cleaned_data["roles"]) | ({"administrator"} if own else set())
        try:
            changed = roster.change_person(
                person=who, full_name=form.cleaned_data["full_name"], roles=roles,
                seen=request.POST.get("seen", ""), by=request.user, now=timezone.now(),
            )  # fmt: skip
        except Refusal as refusal:
            forms.say(form, refusal)
        else:
            messages.success(request, "Saved." if changed else "Nothing was different.")
            return redirect(_page(who))
    return _person(request, queries.person(number), form=form)


def _page(who: User) -> str:
    return reverse("person-page", args=[who.pk])


def _person(request: PersonRequest, who: User, **more: Any) -> HttpResponse:
    own = who.pk == request.user.pk
    roles = ["administrator"] * who.is_administrator + ["finance"] * who.is_finance
    context = {
        "now": timezone.now(), "who": who, "own": own, "seen": roster.stamp(who),
        "form": forms.Person(own=own, initial={"full_name": who.full_name, "roles": roles}),
        "places": queries.memberships(who), "place": forms.Place(auto_id="place-%s"),
        "events": about(Entry.Kind.PERSON, who.pk)[:EVENTS],
        "crumbs": [("People and teams", reverse("people")), (who.full_name, "")],
    }  # fmt: skip
    return render(request, "accounts/person.html", context | more)


@may("people.change")
def team(request: PersonRequest, number: int) -> HttpResponse:
    """Into a team, another role in it, or out of it."""
    who = queries.person(number)
    if request.method != "POST":
        return redirect(_page(who))
    form = forms.Place(request.POST, auto_id="place-%s")
    if not form.is_valid():
        return _person(request, who, place=form)
    where, role = form.cleaned_data["team"], form.cleaned_data["role"]
    roster.set_membership(person=who, team=where, role=role or None, by=request.user, now=timezone.now())
    said = f"is {role} of {where}" if role else f"is not in {where} any more"
    messages.success(request, f"{who.full_name} {said}.")
    return redirect(_page(who))


@may("people.change")
def password(request: PersonRequest, number: int) -> HttpResponse:
    """Asks first; then a new first password, shown in this answer only."""
    who = queries.person(number)
    if request.method == "POST":
        secret = roster.reset_password(person=who, by=request.user, now=timezone.now())
        return _shown_once(request, who, secret)
    return render(request, "confirm.html", {
        "now": timezone.now(), "question": f"Reset the password of {who.full_name}?",
        "text": "Their present password stops working and they are signed out everywhere; their tokens rest. "
        "You see a first password once, to hand over; they choose their own when they sign in.",
        "address": request.path, "yes": "Reset password", "no": "Leave it as it is", "back": _page(who),
        "crumbs": [("People and teams", reverse("people")), (who.full_name, _page(who)), ("Reset password", "")],
    })  # fmt: skip
