"""The API's door to the policy."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from ninja import Field, Router, Schema

from portal.accounts.may import PersonRequest, may_call
from portal.cycle import policy, queries

router = Router(tags=["policy"])
VERSIONS = 100


class PolicyOut(Schema):
    version: int = Field(description="0: the defaults, which nobody changed yet")
    at: datetime | None
    by: str | None
    why: str
    figures: dict[str, Any] = Field(description="as in the POLICY.json of a replay")


class PolicyIn(Schema):
    model_config = {"extra": "forbid", "strict": True}

    version: int = Field(
        description="the version you looked at; refused with 409 when it is not the newest", ge=0
    )
    why: str = Field(max_length=2000)
    figures: dict[str, Any] = Field(description="what is left out gets its default, as in a replay")


@router.get("/policy", response=PolicyOut)
@may_call("policy.see")
def get_policy(request: PersonRequest) -> dict[str, Any]:
    """The policy in force."""
    return _out(queries.in_force())


@router.put("/policy", response=PolicyOut)
@may_call("policy.change")
def put_policy(request: PersonRequest, asked: PolicyIn) -> dict[str, Any]:
    """A new version of the policy, in place of the one you looked at."""
    policy.set_policy(
        figures=asked.figures, seen=asked.version, why=asked.why, by=request.user, now=timezone.now()
    )
    return _out(queries.in_force())


@router.get("/policy/versions", response=list[PolicyOut])
@may_call("policy.see")
def list_versions(request: PersonRequest) -> list[dict[str, Any]]:
    """The newest versions of the policy, newest first."""
    return [_out(version) for version, _ in queries.history(VERSIONS)]


def _out(version: queries.Version) -> dict[str, Any]:
    by = version.by.email if version.by else None
    return {
        "version": version.number, "at": version.at, "by": by, "why": version.why, "figures": version.figures,
    }  # fmt: skip
