"""Reads about the policy: what is in force, and what was before."""

import logging
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from portal.accounts.models import User
from portal.cluster.models import Pool
from portal.cycle.figures import DEFAULTS, Change, Plain, changes
from portal.cycle.models import PolicyVersion
from portal.errors import NotFound
from portal.journal.models import Entry
from scheduler.core.policy import BadPolicy, Policy

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Version:
    """The policy at one time; number 0 are the defaults, which nobody set."""

    number: int
    figures: Plain
    at: datetime | None = None
    by: User | None = None
    why: str = ""


def in_force() -> Version:
    """The newest version; one query."""
    newest = PolicyVersion.objects.select_related("by").first()
    return _version(newest) if newest else Version(0, DEFAULTS)


def policy_of(version: Version) -> Policy:
    """The same for the planner."""
    return Policy.of(version.figures)


def version(number: int) -> Version:
    """One of them; the defaults are number 0."""
    if number == 0:
        return Version(0, DEFAULTS)
    found = (
        PolicyVersion.objects.select_related("by").filter(number=number).first() if number < 2**31 else None
    )
    if found is None:
        raise NotFound(f"The policy has no version {number}.")
    return _version(found)


def pools() -> list[str]:
    """What a policy may name; one query."""
    return sorted(set(Pool.objects.values_list("name", flat=True)))


def history(most: int | None = None) -> list[tuple[Version, list[Change]]]:
    """The newest versions first, each with what it changed; two queries."""
    rows = PolicyVersion.objects.select_related("by")
    found = [_version(row) for row in (rows if most is None else rows[: most + 1])]
    told = [(one, changes(before.figures, one.figures)) for one, before in pairwise(found)]
    if found and found[-1].number == 1:
        told.append((found[-1], _first_changes(found[-1])))
    return told if most is None else told[:most]


def _first_changes(first: Version) -> list[Change]:
    """As they were told at the time: the defaults of this Berth may be others than those it changed."""
    entry = Entry.objects.filter(kind=Entry.Kind.POLICY, subject=first.number, verb="changed").first()
    if entry is None:
        return changes(DEFAULTS, first.figures)
    return [Change(one["figure"], one["was"], one["is"]) for one in entry.facts["changed"]]


def _version(row: PolicyVersion) -> Version:
    return Version(row.number, readable(row.figures), row.at, row.by, row.why)


def readable(figures: dict[str, Any]) -> Plain:
    """A version that an older Berth wrote must not stop a newer one: what it cannot read gets its default."""
    kept = {name: value for name, value in figures.items() if name in DEFAULTS}
    while True:
        try:
            return Policy.of(kept).plain()
        except BadPolicy as bad:
            name = bad.field.partition(".")[0].partition("[")[0]
            log.warning("policy: %s; its default is used", bad)
            del kept[name]
