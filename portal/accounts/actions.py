"""Writes about people: tokens made and revoked, accounts closed and opened, passwords changed."""

import secrets
from datetime import datetime, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from portal.accounts.models import Token, User
from portal.accounts.queries import digest
from portal.accounts.roster import keep_an_administrator
from portal.errors import Conflict, Refusal
from portal.journal.actions import note
from portal.journal.models import Entry

TOKEN_LIVES_AT_MOST = timedelta(days=366)
TOKENS_AT_MOST = 50


@transaction.atomic
def make_token(
    *, user: User, name: str, scopes: list[str], lives: timedelta, now: datetime
) -> tuple[Token, str]:
    """A new token and its secret, which nobody will see again."""
    if not scopes or not set(scopes) <= set(Token.Scope.values):
        raise Refusal(f"Choose at least one scope of: {', '.join(Token.Scope.values)}.", field="scopes")
    if not name.strip() or not name.isprintable():
        raise Refusal("Give the token a name, so that you know later what it is for.", field="name")
    if not timedelta(0) < lives <= TOKEN_LIVES_AT_MOST:
        raise Refusal("A token lives between 1 and 366 days.", field="days")
    if Token.objects.filter(user=user, revoked_at=None, expires_at__gt=now).count() >= TOKENS_AT_MOST:
        raise Refusal(f"You have {TOKENS_AT_MOST} live tokens; revoke one first.")
    prefix = secrets.token_hex(5)
    secret = f"berth_{prefix}_{secrets.token_urlsafe(32)}"
    token = Token.objects.create(
        user=user, name=name.strip()[:60], prefix=prefix, digest=digest(secret), scopes=sorted(set(scopes)),
        created_at=now, expires_at=now + lives,
    )  # fmt: skip
    note(
        about=(Entry.Kind.TOKEN, token.pk),
        verb="made",
        actor=user,
        now=now,
        sentence=f"Token {token} made",
    )
    return token, secret


@transaction.atomic
def revoke_token(*, token: Token, by: User, now: datetime) -> None:
    """From now on the token opens nothing; doing it twice is fine."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        note(
            about=(Entry.Kind.TOKEN, token.pk), verb="revoked", actor=by, now=now,
            sentence=f"Token {token} revoked",
        )  # fmt: skip


def used(token: Token, *, now: datetime) -> None:
    """Remember when a token was last used, to the minute: a write per request would be too many."""
    if token.last_used_at is None or now - token.last_used_at > timedelta(minutes=1):
        Token.objects.filter(pk=token.pk).update(last_used_at=now)


@transaction.atomic
def set_active(*, user: User, active: bool, by: User, now: datetime) -> None:
    """Close or open an account; Django signs a closed one out at its next request. Its jobs go on."""
    if user.pk == by.pk:
        raise Conflict("You cannot deactivate your own account; ask another administrator.")
    if not active:
        keep_an_administrator(without=user)
    if User.objects.filter(pk=user.pk, is_active=not active).update(is_active=active):
        word = "activated" if active else "deactivated"
        note(
            about=(Entry.Kind.PERSON, user.pk), verb=word, actor=by, now=now,
            sentence=f"{user.full_name} {word}",
        )  # fmt: skip


@transaction.atomic
def change_password(*, user: User, old: str, new: str, now: datetime) -> None:
    """Django's session hash ends every other session of this person by itself."""
    # Locked and read again: an administrator may be resetting it at this moment.
    user.password = User.objects.select_for_update().values_list("password", flat=True).get(pk=user.pk)
    if not user.check_password(old):
        raise Refusal("That is not your present password.", field="old")
    if new == old:
        raise Refusal("That is the password you have; choose another one.", field="new")
    try:
        validate_password(new, user)
    except ValidationError as why:
        raise Refusal(" ".join(why.messages), field="new") from why
    user.set_password(new)
    user.must_change_password = False
    user.save(update_fields=["password", "must_change_password"])
    note(
        about=(Entry.Kind.PERSON, user.pk), verb="password", actor=user, now=now,
        sentence=f"{user.full_name} changed their password",
    )  # fmt: skip
