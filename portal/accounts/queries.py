"""Reads about people and teams: what somebody is to a team, and whom a token belongs to."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Prefetch, Q, QuerySet

from portal.accounts.models import Membership, Team, Token, User
from portal.accounts.rules import RULES, Role
from portal.errors import Forbidden, NotFound


@dataclass(frozen=True, slots=True)
class Standing:
    """What one person is, everywhere; read once per request."""

    user: User
    member_of: frozenset[int]  # team ids
    lead_of: frozenset[int]  # with all teams below

    def roles(self, *, team_id: int | None = None, owner_id: int | None = None) -> set[Role]:
        """What the person is to a thing of this team and owner."""
        have = {Role.ANYONE, Role.PERSON}
        if self.user.is_administrator:
            have.add(Role.ADMINISTRATOR)
        if self.user.is_finance:
            have.add(Role.FINANCE)
        if owner_id is not None and owner_id == self.user.pk:
            have.add(Role.OWNER)
        if team_id in self.member_of:
            have.add(Role.MEMBER)
        if team_id in self.lead_of:
            have.add(Role.LEAD)
        return have

    def may(self, rule: str, *, team_id: int | None = None, owner_id: int | None = None) -> bool:
        return bool(RULES[rule].roles & self.roles(team_id=team_id, owner_id=owner_id))

    def require(self, rule: str, *, team_id: int | None = None, owner_id: int | None = None) -> None:
        """Refuse, saying who may instead."""
        if not self.may(rule, team_id=team_id, owner_id=owner_id):
            who = ", ".join(sorted(role.value for role in RULES[rule].roles))
            raise Forbidden(f"Your account may not do this; it takes one of: {who}.", rule=rule)

    def teams(self, rule: str) -> frozenset[int] | None:
        """The teams whose things the person may treat so; None means all of them."""
        if RULES[rule].roles & self.roles():
            return None
        found: set[int] = set()
        if Role.MEMBER in RULES[rule].roles:
            found |= self.member_of
        if Role.LEAD in RULES[rule].roles:
            found |= self.lead_of
        return frozenset(found)


def standing(user: User) -> Standing:
    """Two queries: the memberships, and the tree below what the person leads."""
    mine = list(Membership.objects.filter(user=user).values_list("team_id", "role"))
    led = {team for team, role in mine if role == Membership.Role.LEAD}
    return Standing(user, frozenset(team for team, _ in mine), frozenset(_with_teams_below(led)))


def _with_teams_below(tops: set[int]) -> set[int]:
    if not tops:
        return set()
    children: dict[int | None, list[int]] = {}
    for pk, parent in Team.objects.values_list("pk", "parent_id"):
        children.setdefault(parent, []).append(pk)
    found: set[int] = set()
    todo = list(tops)
    while todo:
        team = todo.pop()
        if team not in found:  # a loop in the tree must not become a loop here
            found.add(team)
            todo.extend(children.get(team, ()))
    return found


def digest(secret: str) -> str:
    """How secrets that are long and random are kept: plain SHA-256 is enough for those."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_of(secret: str, now: datetime) -> Token | None:
    """The live token behind a bearer secret, with its person, or nothing."""
    if not secret.isprintable():  # PostgreSQL cannot even be asked for a NUL
        return None
    prefix = secret.removeprefix("berth_").partition("_")[0]
    token = Token.objects.select_related("user").filter(prefix=prefix, revoked_at=None).first()
    if token is None or token.digest != digest(secret):
        return None
    return token if token.expires_at > now and token.user.is_active else None


def by_email(email: str) -> User | None:
    """The person with this address, however they write it."""
    return User.objects.filter(email__iexact=email).first()


def person(number: int) -> User:
    """The person with this number."""
    found = User.objects.filter(pk=number).first() if number < 2**63 else None
    if found is None:
        raise NotFound("There is no such person.")
    return found


def team_named(name: str) -> Team:
    """The team of this name, with its parent."""
    found = Team.objects.select_related("parent").filter(name=name).first() if name.isprintable() else None
    if found is None:
        raise NotFound(f"There is no team {name[:40]}.")
    return found


def members(team: Team) -> list[Membership]:
    """The people of one team, leads first."""
    found = Membership.objects.filter(team=team).select_related("user")
    return list(found.order_by("role", "user__full_name", "user_id"))  # "lead" stands before "member"


def memberships(user: User) -> list[Membership]:
    """Somebody's teams with their roles, by name."""
    found = Membership.objects.filter(user=user).select_related("team__parent")
    return list(found.order_by("team__name"))


def tokens(user: User, now: datetime) -> list[Token]:
    """Somebody's tokens, the live ones first; those that ended long ago only fill the page."""
    found = list(Token.objects.filter(user=user)[:100])
    return sorted(found, key=lambda token: not is_live(token, now))


def is_live(token: Token, now: datetime) -> bool:
    return token.revoked_at is None and token.expires_at > now


def people(asked: str = "", *, active: bool | None = None) -> QuerySet[User]:
    """Everybody with their teams, by name; asked is a piece of a name, an address or a team."""
    teams = Prefetch(
        "memberships", Membership.objects.select_related("team").order_by("team__name"), to_attr="places"
    )
    found = User.objects.prefetch_related(teams)
    if active is not None:
        found = found.filter(is_active=active)
    if asked:
        in_team = Membership.objects.filter(team__name__icontains=asked).values("user")
        found = found.filter(Q(full_name__icontains=asked) | Q(email__icontains=asked) | Q(pk__in=in_team))
    return found


@dataclass(frozen=True, slots=True)
class Branch:
    """A team in its place in the tree."""

    team: Team
    members: int
    above: tuple[str, ...]  # the names from the root down to its parent


def tree() -> list[Branch]:
    """Every team below its parent, each level by name; one query."""
    below: dict[int | None, list[tuple[Team, int]]] = {}
    for team in Team.objects.annotate(n=Count("memberships")).order_by("-name"):
        below.setdefault(team.parent_id, []).append((team, team.n))
    found: list[Branch] = []
    todo: list[tuple[Team, int, tuple[str, ...]]] = [(root, n, ()) for root, n in below.get(None, [])]
    while todo:
        branch = Branch(*todo.pop())
        found.append(branch)
        above = (*branch.above, branch.team.name)
        todo += [(child, n, above) for child, n in below.get(branch.team.pk, [])]
    return found
