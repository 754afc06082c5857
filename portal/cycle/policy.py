"""Writes about the policy: a new version of it, from somebody's figures or from an older version."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from portal import bell, words
from portal.accounts.models import User
from portal.cycle import queries
from portal.cycle.figures import FIGURES, Change, Figure, Plain, changes, length
from portal.cycle.models import PolicyVersion
from portal.errors import Conflict, Refusal
from portal.jobs.ask import LIMIT_S
from portal.journal.actions import note
from portal.journal.models import Entry
from scheduler.core.policy import BadPolicy, Policy

WHY_LENGTH = 500
SOONEST_S = 5.0  # how often beat ticks (portal/celery.py): a pause cannot be promised shorter
LONGEST_S = 3_650 * 86_400.0  # ten years: a moment that far ahead is still a date
GRACE_AT_MOST_S = 86_400.0  # an agent takes no order to wait longer (scheduler/wire.py)
MOST = 1_000_000_000
POOLS = tuple(each.name for each in FIGURES.values() if each.kind == "pools")


def set_policy(*, figures: Plain, seen: int, why: str, by: User, now: datetime) -> list[Change]:
    """A new version in place of number `seen`; what is missing gets its default. Returns what changed."""
    why = " ".join(why.split())
    if not why or len(why) > WHY_LENGTH or not why.isprintable():
        raise Refusal(
            f"Say in 1 to {WHY_LENGTH} characters why, so that whoever meets it knows.", field="why"
        )
    plain = _checked(figures)
    newest = queries.in_force()
    if newest.number != seen:
        raise _overtaken(newest)
    _check_pools(plain, known={*queries.pools(), *_pools_of(newest.figures)})
    changed = changes(newest.figures, plain)
    if not changed:
        return []
    row = PolicyVersion(number=seen + 1, at=now, by=by, why=why, figures=dict(plain))
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            _tell(row, changed)
    except IntegrityError:  # somebody saved between the look and the write
        raise _overtaken(queries.in_force()) from None
    bell.ring()
    return changed


def restore(*, number: int, seen: int, why: str, by: User, now: datetime) -> list[Change]:
    """An older version, or the defaults (0), as the newest."""
    return set_policy(figures=queries.version(number).figures, seen=seen, why=why, by=by, now=now)


def _checked(figures: Plain) -> Plain:
    for fault in faults(figures):
        raise fault
    plain: dict[str, Any] = Policy.of(figures).plain()
    # In which order pools are named says nothing.
    return {name: sorted({*value}) if name in POOLS else value for name, value in plain.items()}


def faults(figures: Plain) -> Iterator[Refusal]:
    """What is wrong with these figures, one for each that cannot be, as far as it can be told from itself."""
    for name, value in figures.items():
        try:
            plain: Any = Policy.of({name: value}).plain()[name]
        except BadPolicy as bad:
            yield Refusal(f"{bad.sentence[:1].upper()}{bad.sentence[1:]}.", field=bad.field)
            continue
        if name == "name" and plain != "default":
            yield Refusal("The policies fifo and easy are for comparison in replays only.", field="name")
        elif name == "cycle_s" and plain < SOONEST_S:
            yield Refusal(f"The portal looks every {SOONEST_S:g} s; write that or more.", field="cycle_s")
        elif name in FIGURES:
            yield from _beyond(FIGURES[name], plain)
        if name == "max_duration_s":
            yield from (
                Refusal("Write at least 1 min, or leave it empty for no limit.", field=f"{name}.{tier}")
                for tier, most in plain.items()
                if most is not None and most < LIMIT_S[0]
            )


def _beyond(figure: Figure, value: Any) -> Iterator[Refusal]:
    """Beyond its end a figure means no more than at it, and what is worked out from it may break."""
    if figure.kind in ("length", "lengths"):
        end = GRACE_AT_MOST_S if figure.name == "grace_s" else LONGEST_S
        most = length(end)
    elif figure.kind in ("count", "counts", "number"):
        end, most = float(MOST), f"{MOST:,}"
    else:
        return
    parts = value.items() if figure.by_tier else [("", value)]
    for tier, number in parts:
        if number is not None and number > end:
            yield Refusal(f"Write at most {most}.", field=f"{figure.name}.{tier}".rstrip("."))


def _check_pools(plain: Plain, *, known: set[str]) -> None:
    """A name that was in force stays allowed, or nobody could save anything else first."""
    for name in POOLS:
        for pool in plain[name]:
            if pool not in known:
                there = words.listed(sorted(known), most=len(known)) or "none yet"
                raise Refusal(f"There is no pool {pool[:40]!r}; the pools are: {there}.", field=name)
    if both := {*plain["production_pools"]} & {*plain["sharing_pools"]}:
        raise Refusal(
            f"Nothing could ever start in {min(both)}: shared GPUs are not for production, and only production "
            "would be let in.", field="sharing_pools",
        )  # fmt: skip


def _pools_of(figures: Plain) -> set[str]:
    return {pool for name in POOLS for pool in figures[name]}


def _overtaken(newest: queries.Version) -> Conflict:
    who = newest.by.full_name if newest.by else "Somebody"
    return Conflict(
        f"{who} changed the policy meanwhile (version {newest.number}: {newest.why}). "
        "Look at what is in force now, then save again if yours should count on top of it.",
        field="version",
    )


def _tell(row: PolicyVersion, changed: list[Change]) -> None:
    said = "; ".join(map(str, changed))
    facts = {"changed": [{"figure": one.label, "was": one.was, "is": one.now} for one in changed]}
    note(
        about=(Entry.Kind.POLICY, row.number), verb="changed", actor=row.by, now=row.at,
        sentence=f"Policy version {row.number}, because {row.why}: {said}", facts=facts,
    )  # fmt: skip
