"""Join tokens: an administrator makes one over the API, and a node that shows it is in."""

import pytest
from django.test import Client

from portal.agents.models import JoinToken
from tests.portal.caller import problem, with_token
from tests.portal.stage import Stage, hardware


def test_a_node_joins_with_what_an_administrator_made(
    client: Client, stage_now: Stage, redis_url: str
) -> None:
    noor = with_token(stage_now.people["noor"], stage_now.now)
    made = noor.post("/join-tokens", {"days": 2}).json()
    asked = {"name": "n7", "claim": "c" * 40, "hardware": hardware("n7"), "join_token": made["secret"]}
    answer = client.post("/api/v1/agent/join", asked, content_type="application/json")
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
    assert JoinToken.objects.get().made_by == stage_now.people["noor"]


@pytest.mark.parametrize("days", [0, 366, "7"], ids=["none", "more than a year", "text"])
def test_a_life_that_makes_no_sense_is_refused(stage_now: Stage, days: object) -> None:
    noor = with_token(stage_now.people["noor"], stage_now.now)
    answer = noor.post("/join-tokens", {"days": days})
    assert (answer.status_code, problem(answer)["field"]) == (422, "days")
    assert not JoinToken.objects.exists()
