"""The pages of the policy: what is in force, its history, and changing it."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from portal.accounts.forms import say
from portal.accounts.may import PersonRequest, may
from portal.cycle import figures, policy, queries, summary
from portal.cycle.forms import PolicyForm, Why
from portal.errors import Conflict, Refusal

SHOWN = 20


@may("policy.see")
def policy_page(request: PersonRequest) -> HttpResponse:
    """Every figure with its meaning, and who changed what, when and why."""
    whole = request.GET.get("history") == "all"
    newest = queries.in_force()
    context = {
        "now": timezone.now(), "version": newest, "groups": figures.shown(newest.figures),
        "rules": summary.rules(queries.policy_of(newest)),
        "history": queries.history(None if whole else SHOWN), "whole": whole,
        "may_change": request.standing.may("policy.change"),
    }  # fmt: skip
    return render(request, "cycle/policy.html", context)


@may("policy.see")
def version_page(request: PersonRequest, number: int) -> HttpResponse:
    """One version whole, and how it differs from what is in force."""
    return _version(request, number, Why())


def _version(request: PersonRequest, number: int, form: Why) -> HttpResponse:
    one, newest = queries.version(number), queries.in_force()
    return render(request, "cycle/policy_version.html", {
        "now": timezone.now(), "version": one, "newest": newest, "groups": figures.shown(one.figures),
        "changes": figures.changes(newest.figures, one.figures), "form": form,
        "may_change": request.standing.may("policy.change"),
        "crumbs": [("Policy", reverse("policy")), (f"Version {number}", "")],
    })  # fmt: skip


@may("policy.change")
def restore(request: PersonRequest, number: int) -> HttpResponse:
    """An older version becomes the newest one."""
    if request.method != "POST":
        return redirect("policy-version", number)
    form = Why(request.POST)
    if form.is_valid():
        try:
            changed = policy.restore(
                number=number, seen=_seen(request), why=form.cleaned_data["why"], by=request.user,
                now=timezone.now(),
            )  # fmt: skip
        except Refusal as refusal:
            say(form, refusal)
        else:
            return _saved(request, changed)
    return _version(request, number, form)


@may("policy.change")
def change(request: PersonRequest) -> HttpResponse:
    """The form; it comes back with what was typed until every figure can be."""
    seen = queries.version(_seen(request)) if request.method == "POST" else queries.in_force()
    form = PolicyForm(
        request.POST if request.method == "POST" else None, figures=seen.figures, pools=queries.pools()
    )
    if request.method == "POST" and form.is_valid():
        try:
            changed = policy.set_policy(
                figures=form.plain(), seen=seen.number, why=form.cleaned_data["why"], by=request.user,
                now=timezone.now(),
            )  # fmt: skip
        except Conflict as overtaken:
            return _form(request, *_on_top(form, seen), overtaken=overtaken.sentence)
        except Refusal as refusal:
            form.refuse(refusal)
        else:
            return _saved(request, changed)
    return _form(request, form, seen)


def _on_top(form: PolicyForm, seen: queries.Version) -> tuple[PolicyForm, queries.Version]:
    """What this person changed, laid over what somebody else saved meanwhile: neither undoes the other unseen."""
    newest, mine = queries.in_force(), form.plain()
    own = {name: value for name, value in mine.items() if value != seen.figures[name]}
    again = PolicyForm(
        figures={**newest.figures, **own}, pools=queries.pools(), initial={"why": form["why"].value()}
    )
    return again, newest


def _form(
    request: PersonRequest, form: PolicyForm, seen: queries.Version, overtaken: str = ""
) -> HttpResponse:
    context = {
        "now": timezone.now(), "form": form, "seen": seen, "overtaken": overtaken, "defaults": figures.DEFAULTS,
        "crumbs": [("Policy", reverse("policy")), ("Change", "")],
    }  # fmt: skip
    failed = bool(form.errors) or bool(overtaken)
    return render(request, "cycle/policy_change.html", context, status=422 if failed else 200)


def _saved(request: PersonRequest, changed: list[Any]) -> HttpResponse:
    messages.success(request, "The policy is saved and in force." if changed else "Nothing was different.")
    return redirect("policy")


def _seen(request: PersonRequest) -> int:
    text = request.POST.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
