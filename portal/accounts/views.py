"""The pages about people: the door, one's own account, and everybody's for administrators."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from portal import words
from portal.accounts import actions, forms, queries, tries
from portal.accounts.may import PersonRequest, may
from portal.accounts.models import Token, User
from portal.demo import PASSWORD, PEOPLE
from portal.errors import NotFound, Refusal
from portal.quotas.queries import by_team
from portal.streams import signed_out

PER_PAGE = 50
SHOWN = {"": True, "deactivated": False, "all": None}
CHANGES = {"activate": True, "deactivate": False}


@may("account.sign_in")
def signin(request: HttpRequest) -> HttpResponse:
    """The door. It says the same of a wrong password and of an account that is not there or is closed."""
    target = _safe_target(request)
    if request.user.is_authenticated:
        return redirect(target)
    form = forms.SignIn(request.POST if request.method == "POST" else None)
    status = 200
    if form.is_valid():
        attempt = tries.begin(email=form.cleaned_data["email"], address=_address(request))
        person = None if attempt.wait_s else _person(request, form.cleaned_data)
        if person is not None:
            tries.forgive(email=form.cleaned_data["email"], address=_address(request))
            login(request, person)
            return redirect(target)
        form.add_error("password", _wrong(attempt))
        status = 429 if attempt.wait_s else 200
    asked = request.POST.get("next") or request.GET.get("next", "")
    return render(
        request, "accounts/signin.html", {"form": form, "next": asked, "demo": _demo()}, status=status
    )


def _safe_target(request: HttpRequest) -> str:
    """Where to go after the door: an address of this portal, whatever the link said."""
    asked = request.POST.get("next") or request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure())
    return asked if safe else resolve_url(settings.LOGIN_REDIRECT_URL)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _person(request: HttpRequest, typed: dict[str, Any]) -> User | None:
    known = queries.by_email(typed["email"])
    # Django hashes the password for an unknown account too, so that time tells nothing.
    email = known.email if known else typed["email"]
    found = authenticate(request, username=email, password=typed["password"])
    return found if isinstance(found, User) else None


def _wrong(attempt: tries.Try) -> str:
    if attempt.wait_s:
        minutes = -(-attempt.wait_s // 60)
        return f"Too many wrong tries. Wait {words.unit(minutes, 'min')}, then try again."
    pause = words.unit(tries.PAUSE_S // 60, "min")
    left = words.many(attempt.left, "try", "tries")
    return f"This e-mail and password do not match. {left.capitalize()} left before a {pause} pause."


def _demo() -> list[dict[str, str]]:
    if not settings.DEMO:
        return []
    return [{"role": role, "email": email, "password": PASSWORD} for role, (email, _) in PEOPLE.items()]


@may("account.sign_out")
def signout(request: HttpRequest) -> HttpResponse:
    """By POST only: a picture on another site must not sign anybody out."""
    if request.method == "POST":
        session = request.session.session_key
        logout(request)
        signed_out(session or "")
        return redirect("signin")
    return redirect("account")


@may("account.see")
def account(request: PersonRequest) -> HttpResponse:
    """Who I am, where I belong, my password and my tokens."""
    return _account(request)


def _account(request: PersonRequest, **more: Any) -> HttpResponse:
    now = timezone.now()
    found = queries.tokens(request.user, now)
    context = {
        "now": now,
        "places": queries.memberships(request.user),
        "tokens": [{"row": token, "live": queries.is_live(token, now)} for token in found],
        "change": forms.ChangePassword(auto_id="password-%s"),
        "make": forms.MakeToken(auto_id="token-%s"),
    }
    response = render(request, "accounts/account.html", context | more)
    response.headers["Cache-Control"] = "no-store"  # a secret may stand in it, once
    return response


@may("account.password")
def password(request: PersonRequest) -> HttpResponse:
    """A new password; this session goes on, every other one of this person ends."""
    if request.method != "POST":
        return redirect("account")
    form = forms.ChangePassword(request.POST, auto_id="password-%s")
    if form.is_valid():
        old, new = form.cleaned_data["old"], form.cleaned_data["new"]
        try:
            actions.change_password(user=request.user, old=old, new=new, now=timezone.now())
        except Refusal as refusal:
            forms.say(form, refusal)
    if not form.is_valid():
        return _account(request, change=form)
    update_session_auth_hash(request, request.user)
    messages.success(request, "Your password is changed. Your other sessions are signed out.")
    return redirect("account")


@may("token.make")
def tokens(request: PersonRequest) -> HttpResponse:
    """A new token; its secret is in this answer and nowhere else."""
    if request.method != "POST":
        return redirect("account")
    now = timezone.now()
    taken = {token.name for token in queries.tokens(request.user, now) if queries.is_live(token, now)}
    form = forms.MakeToken(request.POST, taken=taken, auto_id="token-%s")
    if not form.is_valid():
        return _account(request, make=form)
    asked = form.cleaned_data
    try:
        made, secret = actions.make_token(
            user=request.user, name=asked["name"], scopes=asked["scopes"],
            lives=timedelta(days=asked["days"]), now=now,
        )  # fmt: skip
    except Refusal as refusal:
        forms.say(form, refusal)
        return _account(request, make=form)
    return _account(request, made=made, secret=secret)


@may("token.revoke")
def token_revoke(request: PersonRequest, number: int) -> HttpResponse:
    """Asks first; from then on the token opens nothing."""
    token = Token.objects.filter(pk=number).first()
    if token is None or not request.standing.may("token.revoke", owner_id=token.user_id):
        raise NotFound(f"You have no token {number}.")
    if request.method == "POST":
        actions.revoke_token(token=token, by=request.user, now=timezone.now())
        messages.success(request, f"Token {token.name} is revoked.")
        return redirect("account")
    return render(request, "confirm.html", {
        "now": timezone.now(),
        "question": f"Revoke token {token.name}?",
        "text": "Programs that use it are refused from then on. This cannot be undone; you can make another.",
        "address": request.path, "yes": "Revoke token", "no": "Keep it", "back": reverse("account"),
        "crumbs": [("Account", reverse("account")), ("Revoke token", "")],
    })  # fmt: skip


@may("people.list")
def people(request: PersonRequest) -> HttpResponse:
    """Everybody with teams and roles, and the tree of teams with its quotas."""
    asked, show = request.GET.get("q", "").replace("\0", "").strip()[:100], request.GET.get("show", "")
    found = queries.people(asked, active=SHOWN.get(show, True))
    start = _number(request.GET.get("from", ""))
    shown, total = list(found[start : start + PER_PAGE]), found.count()
    quotas = by_team()
    teams = [{"branch": branch, "quotas": quotas.get(branch.team.pk, [])} for branch in queries.tree()]
    return render(request, "accounts/people.html", {
        "now": timezone.now(), "asked": asked, "show": show if show in SHOWN else "", "people": shown,
        "teams": teams, "total": total, "first": start + 1, "last": start + len(shown),
        "previous": max(0, start - PER_PAGE) if start else None,
        "next": start + PER_PAGE if start + PER_PAGE < total else None,
    })  # fmt: skip


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 8 else 0


@may("people.change")
def person(request: PersonRequest, number: int, change: str) -> HttpResponse:
    """Close or open an account; closing asks first, because it signs somebody out."""
    who = User.objects.filter(pk=number).first()
    if who is None or change not in CHANGES:
        raise NotFound("There is no such person, or nothing of this name can be done to them.")
    active = CHANGES[change]
    if request.method == "POST":
        actions.set_active(user=who, active=active, by=request.user, now=timezone.now())
        messages.success(request, f"{who.full_name} is {'active again' if active else 'deactivated'}.")
        return redirect("people")
    return render(request, "confirm.html", _question(who, active) | {"address": request.path})


def _question(who: User, active: bool) -> dict[str, Any]:
    text = "They can sign in again with their password, and their tokens work again."
    if not active:
        text = (
            "They are signed out and their tokens stop working. Their jobs go on, "
            "their bills are kept, and you can activate the account again at any time."
        )
    return {
        "now": timezone.now(), "text": text, "back": reverse("people"),
        "question": f"{'Activate' if active else 'Deactivate'} {who.full_name}?",
        "yes": f"{'Activate' if active else 'Deactivate'} account", "no": "Leave it as it is",
        "crumbs": [("People and teams", reverse("people")), (who.full_name, "")],
    }  # fmt: skip
