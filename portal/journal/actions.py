"""Writing into the journal."""

from collections.abc import Mapping
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
    kind, subject = about
    Entry.objects.create(
        at=now,
        actor_id=actor.pk if actor else None,
        verb=verb,
        kind=kind,
        subject=subject,
        sentence=sentence[:500],
        facts=dict(facts or {}),
    )
