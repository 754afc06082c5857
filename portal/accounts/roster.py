"""Writes by administrators: people made and changed, first passwords, and who belongs to which team."""

import secrets
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from portal.accounts.models import Membership, Team, User
from portal.accounts.queries import digest
from portal.errors import Conflict, Refusal
from portal.journal.actions import note
from portal.journal.models import Entry

# Read aloud on a telephone, no two of these are mistaken for each other.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS, GROUP = 4, 4


def first_password() -> str:
    """Sixteen letters by chance, in groups that can be copied by hand."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))


@transaction.atomic
def make_person(
    *, email: str, full_name: str, roles: set[str], place: tuple[Team, str] | None, by: User, now: datetime
) -> tuple[User, str]:
    """A new person and their first password, which only this call's caller ever sees."""
    password = first_password()
    try:
        with transaction.atomic():
            person = User.objects.create_user(
                email,
                password,
                full_name=_named(full_name),
                must_change_password=True,
                is_administrator="administrator" in roles,
                is_finance="finance" in roles,
            )
    except IntegrityError as why:
        raise Refusal("Somebody has this e-mail already; look among all people.", field="email") from why
    note(
        about=(Entry.Kind.PERSON, person.pk), verb="made", actor=by, now=now,
        sentence=f"{person.full_name} made{_as(person)}",
    )  # fmt: skip
    if place is not None:
        set_membership(person=person, team=place[0], role=place[1], by=by, now=now)
    return person, password


@transaction.atomic
def reset_password(*, person: User, by: User, now: datetime) -> str:
    """A new first password; Django's session hash ends every session of this person."""
    if person.pk == by.pk:
        raise Conflict("Change your own password on your account page.")
    password = first_password()
    locked = User.objects.select_for_update().get(pk=person.pk)
    locked.set_password(password)
    locked.must_change_password = True
    locked.save(update_fields=["password", "must_change_password"])
    note(
        about=(Entry.Kind.PERSON, person.pk), verb="password", actor=by, now=now,
        sentence=f"New first password for {locked.full_name}",
    )  # fmt: skip
    return password


@transaction.atomic
def change_person(
    *, person: User, full_name: str, roles: set[str], seen: str, by: User, now: datetime
) -> bool:
    """Name and roles; `seen` is the stamp of what the administrator looked at. Says whether it changed."""
    administrator = "administrator" in roles
    if not administrator:
        keep_an_administrator(without=person)
    locked = User.objects.select_for_update().get(pk=person.pk)
    was = _facts(locked)
    if stamp(locked) != seen:
        raise Conflict(
            f"Somebody changed this person meanwhile; now it is {locked.full_name}{_as(locked)}. "
            "Save again if yours should count."
        )
    if person.pk == by.pk and administrator != locked.is_administrator:
        raise Conflict(
            "Nobody changes their own administrator role; ask another administrator.", field="roles"
        )
    locked.full_name = _named(full_name)
    locked.is_administrator, locked.is_finance = administrator, "finance" in roles
    if _facts(locked) == was:
        return False
    locked.save(update_fields=["full_name", "is_administrator", "is_finance"])
    note(
        about=(Entry.Kind.PERSON, person.pk), verb="changed", actor=by, now=now,
        sentence=f"{was['full_name']} changed to {locked.full_name}{_as(locked) or ', no organisation role'}",
        facts={"was": was, "is": _facts(locked)},
    )  # fmt: skip
    return True


@transaction.atomic
def set_membership(*, person: User, team: Team, role: str | None, by: User, now: datetime) -> bool:
    """Put somebody into a team with a role, or out of it (None). Says whether anything changed."""
    if role is not None and role not in Membership.Role.values:
        raise Refusal(f"Choose one of: {', '.join(Membership.Role.values)}.", field="role")
    User.objects.select_for_update().get(pk=person.pk)  # one change of somebody's places at a time
    row = Membership.objects.filter(user=person, team=team).first()
    if (row.role if row else None) == role:
        return False
    if role is None:
        Membership.objects.filter(user=person, team=team).delete()
        sentence = f"{person.full_name} removed from {team}"
    else:
        Membership.objects.update_or_create(user=person, team=team, defaults={"role": role})
        sentence = f"{person.full_name} {'is now' if row else 'added as'} {role} of {team}"
    facts = {"team": team.name, "person": person.pk, "was": row.role if row else None, "is": role}
    for about in ((Entry.Kind.PERSON, person.pk), (Entry.Kind.TEAM, team.pk)):
        note(about=about, verb="membership", actor=by, now=now, sentence=sentence, facts=facts)
    return True


def keep_an_administrator(*, without: User) -> None:
    """Refuse what would leave no active administrator; locks them, so that two cannot remove each other."""
    active = User.objects.select_for_update().filter(is_administrator=True, is_active=True).order_by("pk")
    left = [one.pk for one in active]
    if left == [without.pk]:
        raise Conflict(
            f"{without.full_name} is the last active administrator; make another one first.", field="roles"
        )


def stamp(person: User) -> str:
    """What a form was filled from: differs when somebody saved in between."""
    return digest(repr(sorted(_facts(person).items())))[:16]


def _named(full_name: str) -> str:
    name = " ".join(full_name.split())
    if not name or not name.isprintable() or len(name) > 100:
        raise Refusal("Give a name of 1 to 100 characters that can be printed.", field="full_name")
    return name


def _facts(person: User) -> dict[str, Any]:
    return {name: getattr(person, name) for name in ("full_name", "is_administrator", "is_finance")}


def _as(person: User) -> str:
    roles = ["administrator"] * person.is_administrator + ["finance"] * person.is_finance
    return f", {' and '.join(roles)}" if roles else ""
