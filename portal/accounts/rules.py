"""The one table of who may do what; pages and API read it, a test walks every address against it."""

from dataclasses import dataclass
from enum import StrEnum

from portal.accounts.models import Token


class Role(StrEnum):
    """What a person, or a program, can be to the thing they ask for."""

    ANYONE = "anyone"
    PERSON = "person"  # anyone who is signed in
    OWNER = "owner"  # whose job, token or account it is
    MEMBER = "member"  # of the thing's team
    LEAD = "lead"  # of the thing's team, or of a team above it
    FINANCE = "finance"
    ADMINISTRATOR = "administrator"
    NODE = "node"  # an agent, with its node's own token


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may, and which scope a token needs for it."""

    roles: frozenset[Role]
    scope: Token.Scope = Token.Scope.READ

    @property
    def about_a_team(self) -> bool:
        """Whether the answer depends on the thing asked for, not only on the person."""
        return bool(self.roles & {Role.OWNER, Role.MEMBER, Role.LEAD})


def _who(*roles: Role, scope: Token.Scope = Token.Scope.READ) -> Rule:
    return Rule(frozenset(roles), scope)


_SEES_A_TEAM = (Role.OWNER, Role.MEMBER, Role.LEAD, Role.FINANCE, Role.ADMINISTRATOR)
WRITE, ADMINISTER = Token.Scope.WRITE, Token.Scope.ADMINISTER

RULES: dict[str, Rule] = {
    # the door
    "portal.alive": _who(Role.ANYONE),
    "account.sign_in": _who(Role.ANYONE),
    "account.sign_out": _who(Role.ANYONE),
    "api.describe": _who(Role.ANYONE),
    # oneself
    "home.see": _who(Role.PERSON),
    "account.see": _who(Role.PERSON),
    "account.password": _who(Role.PERSON, scope=ADMINISTER),
    "account.first_password": _who(Role.PERSON, scope=ADMINISTER),
    "token.list": _who(Role.PERSON),
    "token.make": _who(Role.PERSON, scope=ADMINISTER),
    "token.revoke": _who(Role.OWNER, Role.ADMINISTRATOR, scope=ADMINISTER),
    # people and teams
    "team.list": _who(Role.PERSON),
    "people.list": _who(Role.ADMINISTRATOR),
    "people.change": _who(Role.ADMINISTRATOR, scope=ADMINISTER),
    # jobs
    "job.list": _who(Role.PERSON),
    "job.submit": _who(Role.MEMBER, Role.LEAD, scope=WRITE),
    "job.see": _who(*_SEES_A_TEAM),
    "job.log": _who(Role.OWNER, Role.MEMBER, Role.LEAD, Role.ADMINISTRATOR),
    "job.cancel": _who(Role.OWNER, Role.LEAD, Role.ADMINISTRATOR, scope=WRITE),
    "queue.see": _who(Role.PERSON),
    # what is promised
    "policy.see": _who(Role.PERSON),
    "policy.change": _who(Role.ADMINISTRATOR, scope=ADMINISTER),
    "quota.see": _who(Role.PERSON),
    "quota.change": _who(Role.ADMINISTRATOR, scope=ADMINISTER),
    # machines
    "cluster.see": _who(Role.PERSON),
    "node.see": _who(Role.PERSON),
    "node.drain": _who(Role.ADMINISTRATOR, scope=ADMINISTER),
    "node.approve": _who(Role.ADMINISTRATOR, scope=ADMINISTER),
    # agents
    "agent.join": _who(Role.ANYONE),  # the join token or an administrator decides
    "agent.work": _who(Role.NODE),
}
