"""The API's door to quotas."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from ninja import Field, Router, Schema

from portal.accounts.may import PersonRequest, may_call
from portal.accounts.models import Team
from portal.accounts.queries import team_named
from portal.quotas import actions
from portal.quotas.queries import shares_of
from scheduler.core.model import Share

router = Router(tags=["quotas"])


class ShareOut(Schema):
    nominal: int = Field(description="promised to the team and all teams below it")
    borrow: int | None = Field(0, description="how far above nominal it may go; null: no limit")
    lend: int | None = Field(None, description="how much of its idle nominal others may use; null: all")


class ShareIn(ShareOut):
    model_config = {"extra": "forbid", "strict": True}


class QuotaOut(Schema):
    team: str
    weight: float
    priority: int
    quota: dict[str, ShareOut] = Field(description="by GPU type; a type without an entry has no limit here")
    seen: str = Field(description="send it back with a change, so that nobody's change is lost")


class QuotaIn(Schema):
    model_config = {"extra": "forbid", "strict": True}

    quota: dict[str, ShareIn] = Field(description="all of them: a type that is left out loses its quota")
    weight: float | None = Field(None, description="left out: as it is")
    priority: int | None = None
    seen: str = Field(max_length=64)


@router.get("/teams/{name}/quota", response=QuotaOut)
@may_call("quota.see")
def get_quota(request: PersonRequest, name: str) -> dict[str, Any]:
    """What a team owns, may borrow and lends, by GPU type."""
    return _out(team_named(name))


@router.put("/teams/{name}/quota", response=QuotaOut)
@may_call("quota.change")
def put_quota(request: PersonRequest, name: str, asked: QuotaIn) -> dict[str, Any]:
    """Set all quotas of a team at once."""
    team, now = team_named(name), timezone.now()
    told: dict[str, Share | None] = {
        kind: Share(share.nominal, share.borrow, share.lend) for kind, share in asked.quota.items()
    }
    gone = dict.fromkeys(shares_of(team).keys() - told.keys())
    weight = team.weight if asked.weight is None else asked.weight
    priority = team.priority if asked.priority is None else asked.priority
    with transaction.atomic():
        actions.set_quotas(team=team, shares=told | gone, seen=asked.seen, by=request.user, now=now)
        actions.set_surplus(
            team=team, weight=weight, priority=priority, seen=actions.surplus_stamp(team),
            by=request.user, now=now,
        )  # fmt: skip
    return _out(team_named(name))


def _out(team: Team) -> dict[str, Any]:
    shares = shares_of(team)
    return {
        "team": team.name, "weight": team.weight, "priority": team.priority, "seen": actions.stamp(shares),
        "quota": {kind: ShareOut(nominal=s.nominal, borrow=s.borrow, lend=s.lend) for kind, s in shares.items()},
    }  # fmt: skip
