"""Writing into the journal."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser

from portal.journal.models import Entry


def note(
    *,
    about: tuple[Entry.Kind, int],
    verb: str,
    sentence: str,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Call it in the transaction that does what it tells of."""
    entry(about=about, verb=verb, sentence=sentence, now=now, actor=actor, facts=facts).save()


def entry(
    *,
    about: tuple[Entry.Kind, int],
    verb: str,
    sentence: str,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Entry:
    """The same, not written yet: for those who tell of many things at once."""
    kind, subject = about
    return Entry(
        at=now,
        actor_id=actor.pk if actor else None,
        verb=verb,
        kind=kind,
        subject=subject,
        sentence=sentence[:500],
        facts=dict(facts or {}),
    )


def note_all(entries: Iterable[Entry]) -> None:
    """Many at once, in the transaction that does what they tell of."""
    Entry.objects.bulk_create(entries)
