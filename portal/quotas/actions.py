"""Writes about quotas: what a team owns, may borrow and lends, and its part of what is left over."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite

from django.db import transaction

from portal import bell
from portal.accounts.models import Team, User
from portal.accounts.queries import digest
from portal.errors import Conflict, Refusal
from portal.journal.actions import note
from portal.journal.models import Entry
from portal.quotas.models import Quota, said
from portal.quotas.queries import shares_of
from scheduler.core.model import Share

MOST = 1_000_000
KIND_LENGTH = 40
WEIGHT_AT_MOST = 1_000.0
PRIORITIES = (-100, 100)
MEANWHILE = "Somebody changed these quotas meanwhile; save again if yours should count."


@transaction.atomic
def set_quotas(
    *, team: Team, shares: Mapping[str, Share | None], seen: str, by: User, now: datetime
) -> list[str]:
    """By GPU type; None lifts the limit. `seen` is the stamp of what the administrator looked at."""
    Team.objects.select_for_update().get(pk=team.pk)
    was = shares_of(team)
    if stamp(was) != seen:
        raise Conflict(MEANWHILE)
    for kind, share in shares.items():
        _check(kind, share)
    changed = [kind for kind, share in shares.items() if was.get(kind) != share]
    for kind in changed:
        if (share := shares[kind]) is None:
            Quota.objects.filter(team=team, gpu_type=kind).delete()
        else:
            terms = {"nominal": share.nominal, "borrow": share.borrow, "lend": share.lend}
            Quota.objects.update_or_create(team=team, gpu_type=kind, defaults=terms)
    if changed:
        told = {kind: (said(was.get(kind)), said(shares[kind])) for kind in changed}
        note(
            about=(Entry.Kind.TEAM, team.pk), verb="quota", actor=by, now=now,
            sentence=f"Quota of {team}: " + "; ".join(f"{kind} {old} → {new}" for kind, (old, new) in told.items()),
            facts={kind: {"was": old, "is": new} for kind, (old, new) in told.items()},
        )  # fmt: skip
        bell.ring()
    return changed


def _check(kind: str, share: Share | None) -> None:
    if not kind.isprintable() or not 1 <= len(kind) <= KIND_LENGTH:
        raise Refusal(f"The name of a GPU type has 1 to {KIND_LENGTH} printable characters.", field="quota")
    if share is None:
        return
    for name in ("nominal", "borrow", "lend"):
        number = getattr(share, name)
        if number is not None and not 0 <= number <= MOST:
            raise Refusal(f"A quota is a number from 0 to {MOST:,}.", field=f"{kind}.{name}")
    if share.lend is not None and share.lend > share.nominal:
        raise Refusal(
            f"A team lends of what it owns: at most {share.nominal:,}, or leave it empty for all of it.",
            field=f"{kind}.lend",
        )


def stamp(shares: Mapping[str, Share]) -> str:
    """What a form was filled from: differs when somebody saved in between."""
    return digest(repr(sorted(shares.items())))[:16]


@transaction.atomic
def set_surplus(*, team: Team, weight: float, priority: int, seen: str, by: User, now: datetime) -> bool:
    """Its part of what nobody was promised; `seen` is the stamp of what the administrator looked at."""
    if not isfinite(weight) or not 0 <= weight <= WEIGHT_AT_MOST:
        raise Refusal(f"A weight is a number from 0 to {WEIGHT_AT_MOST:,.0f}.", field="weight")
    least, most = PRIORITIES
    if not least <= priority <= most:
        raise Refusal(f"A priority is a whole number from {least} to {most}.", field="priority")
    team = Team.objects.select_for_update(of=("self",)).get(pk=team.pk)
    if (was := surplus_stamp(team)) != seen:
        raise Conflict(MEANWHILE)
    team.weight, team.priority = weight, priority
    if (now_is := surplus_stamp(team)) == was:
        return False
    team.save(update_fields=["weight", "priority"])
    note(
        about=(Entry.Kind.TEAM, team.pk), verb="surplus", actor=by, now=now,
        sentence=f"Left-over GPUs for {team}: {was} → {now_is}", facts={"was": was, "is": now_is},
    )  # fmt: skip
    bell.ring()
    return True


def surplus_stamp(team: Team) -> str:
    """Weight and priority in words, which also tell whether somebody changed them meanwhile."""
    return f"weight {team.weight:.15g}, priority {team.priority}"
