"""Writes about quotas: how many GPUs of each type a team may hold."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from portal import bell
from portal.accounts.models import Team, User
from portal.accounts.queries import digest
from portal.errors import Conflict
from portal.journal.actions import note
from portal.journal.models import Entry
from portal.quotas.models import Quota


@transaction.atomic
def set_quotas(
    *, team: Team, nominal: Mapping[str, int | None], seen: str, by: User, now: datetime
) -> list[str]:
    """By GPU type; None lifts the limit. `seen` is the stamp of what the administrator looked at."""
    Team.objects.select_for_update().get(pk=team.pk)
    was = dict(Quota.objects.filter(team=team).values_list("gpu_type", "nominal"))
    if stamp(was) != seen:
        raise Conflict("Somebody changed these quotas meanwhile; save again if yours should count.")
    changed = [kind for kind, number in nominal.items() if was.get(kind) != number]
    for kind in changed:
        if (number := nominal[kind]) is None:
            Quota.objects.filter(team=team, gpu_type=kind).delete()
        else:
            Quota.objects.update_or_create(team=team, gpu_type=kind, defaults={"nominal": number})
    if changed:
        facts = {kind: {"was": was.get(kind), "is": nominal[kind]} for kind in changed}
        said = ", ".join(f"{kind} {_word(was.get(kind))} → {_word(nominal[kind])}" for kind in changed)
        note(
            about=(Entry.Kind.TEAM, team.pk), verb="quota", actor=by, now=now,
            sentence=f"Quota of {team}: {said}", facts=facts,
        )  # fmt: skip
        bell.ring()
    return changed


def stamp(nominal: Mapping[str, int]) -> str:
    """What a form was filled from: differs when somebody saved in between."""
    return digest(repr(sorted(nominal.items())))[:16]


def _word(number: int | None) -> str:
    return "no limit" if number is None else str(number)
