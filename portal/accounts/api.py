"""The API's door to teams and tokens."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from ninja import Field, Router, Schema, Status

from portal.accounts import actions
from portal.accounts.may import PersonRequest, may_call
from portal.accounts.models import Team, Token
from portal.errors import Forbidden, NotFound

router = Router(tags=["people"])


class TeamOut(Schema):
    name: str
    parent: str | None
    role: str | None = Field(description="what you are in it: member, lead, or nothing")


class TokenIn(Schema):
    model_config = {"extra": "forbid"}

    name: str = Field(max_length=60)
    scopes: list[str] = Field(max_length=3)
    days: int = Field(90, ge=1, le=366)


class TokenOut(Schema):
    id: int
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewTokenOut(TokenOut):
    secret: str = Field(description="shown now and never again")


@router.get("/teams", response=list[TeamOut])
@may_call("team.list")
def teams(request: PersonRequest) -> list[dict[str, object]]:
    """All teams, as a tree by `parent`."""
    standing = request.standing
    role = dict.fromkeys(standing.member_of, "member") | dict.fromkeys(standing.lead_of, "lead")
    return [
        {"name": team.name, "parent": team.parent.name if team.parent else None, "role": role.get(team.pk)}
        for team in Team.objects.select_related("parent")
    ]


@router.get("/tokens", response=list[TokenOut])
@may_call("token.list")
def tokens(request: PersonRequest) -> list[Token]:
    """Your tokens; never their secrets."""
    return list(Token.objects.filter(user=request.user))


@router.post("/tokens", response={201: NewTokenOut})
@may_call("token.make")
def make_token(request: PersonRequest, asked: TokenIn) -> Status[Any]:
    """A new token; its secret is in this answer only. A token makes none that may do more than itself."""
    asking = getattr(request, "auth", None)
    if isinstance(asking, Token) and not set(asked.scopes) <= set(asking.scopes):
        raise Forbidden(
            "A token cannot make one with scopes it lacks itself; sign in for that.", field="scopes"
        )
    token, secret = actions.make_token(
        user=request.user,
        name=asked.name,
        scopes=asked.scopes,
        lives=timedelta(days=asked.days),
        now=timezone.now(),
    )
    return Status(201, TokenOut.from_orm(token).dict() | {"secret": secret})


@router.delete("/tokens/{token_id}", response={204: None})
@may_call("token.revoke")
def revoke_token(request: PersonRequest, token_id: int) -> Status[Any]:
    """From now on the token opens nothing."""
    token = Token.objects.filter(pk=token_id).first()
    if token is None or not request.standing.may("token.revoke", owner_id=token.user_id):
        raise NotFound(f"You have no token {token_id}.")
    actions.revoke_token(token=token, by=request.user, now=timezone.now())
    return Status(204, None)
