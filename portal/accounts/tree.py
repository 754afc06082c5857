"""Writes about the tree of teams: a team made, or moved below another one."""

import re
from datetime import datetime

from django.db import IntegrityError, transaction

from portal import bell
from portal.accounts.models import Team, User
from portal.errors import Conflict, Refusal
from portal.journal.actions import note
from portal.journal.models import Entry

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
TAKEN = {"new"}  # addresses of pages beside the teams' own
COLOURS = range(1, 8)


@transaction.atomic
def make_team(*, name: str, parent: Team | None, by: User, now: datetime) -> Team:
    """A team gets the first colour that no other one wears; from the eighth on they share the grey one."""
    if not NAME.fullmatch(name) or name in TAKEN:
        raise Refusal(
            "A name begins with a letter and has at most 40 small letters, digits and hyphens; not “new”.",
            field="name",
        )
    worn = set(Team.objects.select_for_update().values_list("kind", flat=True))
    kind = next((colour for colour in COLOURS if colour not in worn), 0)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, parent=parent, kind=kind)
    except IntegrityError as why:
        raise Refusal(f"There is a team {name} already.", field="name") from why
    sentence = f"Team {name} made{f' below {parent}' if parent else ''}"
    note(about=(Entry.Kind.TEAM, team.pk), verb="made", actor=by, now=now, sentence=sentence)
    return team


@transaction.atomic
def move_team(*, team: Team, parent: Team | None, seen: int | None, by: User, now: datetime) -> bool:
    """Below another parent, with all teams below it; `seen` is the parent the administrator looked at."""
    above = dict(Team.objects.select_for_update().order_by("pk").values_list("pk", "parent_id"))
    if above[team.pk] != seen:
        raise Conflict("Somebody moved this team meanwhile; look where it is now, then save again.")
    new = parent.pk if parent else None
    if new == seen:
        return False
    step, passed = new, set[int]()
    while step is not None and step not in passed:
        if step == team.pk:
            raise Refusal(f"{parent} is {team} itself or below it; choose another parent.", field="parent")
        passed.add(step)
        step = above.get(step)
    # A trigger holds the same rule for whoever writes past this function.
    Team.objects.filter(pk=team.pk).update(parent=parent)
    sentence = f"Team {team} moved {f'below {parent}' if parent else 'to the top'}"
    facts = {"was": seen, "is": new}
    note(about=(Entry.Kind.TEAM, team.pk), verb="moved", actor=by, now=now, sentence=sentence, facts=facts)
    bell.ring()  # other quotas count for its jobs now
    return True
