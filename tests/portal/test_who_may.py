"""The one table of who may do what, walked: every door, tried as everybody, does what the table says."""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.test import Client

from portal.accounts.models import Token
from portal.accounts.queries import standing
from portal.accounts.rules import RULES, Role
from portal.agents.keys import http_token
from portal.jobs.models import Job, Run
from tests.portal.caller import ALL_SCOPES, with_token
from tests.portal.doors import Door, doors
from tests.portal.stage import PASSWORD, Stage, hardware

DOORS = doors()
PEOPLE = ["omar", "ravi", "mira", "yuki", "rhea", "ines", "noor"]
ASKED = {"name": "x", "team": "vision", "command": "true", "tier": "standard", "nodes": 1, "gpus_per_node": 1}


@dataclass
class Subjects:
    """What the walk asks for: things of mira's, in her team."""

    stage: Stage
    job: Job
    run: Run
    token: Token

    def values(self, door: Door) -> dict[str, Any]:
        """A value for every part of the address."""
        kind = door.rule.partition(".")[0]
        known = {
            ("job", "number"): self.job.pk,
            ("token", "number"): self.token.pk,
            ("token", "token_id"): self.token.pk,
            ("people", "number"): self.stage.people["mira"].pk,
            ("people", "change"): "deactivate",
            ("people", "name"): "vision",
            ("quota", "name"): "vision",
            ("policy", "number"): 0,
            ("node", "name"): "n1",
            ("agent", "run"): self.run.pk,
            ("agent", "rank"): 0,
            ("api", "rest"): "nonsense",
        }
        missing = [name for name in door.kwargs if (kind, name) not in known]
        assert not missing, (
            f"{door} has a part {missing} that the walk knows no value for: "
            f"add ({kind!r}, {missing[0]!r}) to Subjects.values in {__name__}"
        )
        return {name: known[kind, name] for name in door.kwargs}

    def roles(self, who: str, door: Door) -> set[Role]:
        """What somebody is to the thing behind the door."""
        if who == "nobody":
            return {Role.ANYONE}
        if who == "node":
            return {Role.ANYONE, Role.NODE} if door.is_api else {Role.ANYONE}
        about = {
            "job": {"team_id": self.job.team_id, "owner_id": self.job.user_id},
            "token": {"owner_id": self.token.user_id},
        }
        return standing(self.stage.people[who]).roles(**about.get(door.rule.partition(".")[0], {}))


# What is sent where an empty body would be refused before anybody asks who sends it.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "api/v1/jobs"): ASKED,
    ("PUT", "api/v1/policy"): {"version": 0, "why": "trying", "figures": {"grace_s": 60}},
    ("PUT", "api/v1/teams/<name>/quota"): {"quota": {}, "seen": ""},
    ("POST", "api/v1/tokens"): {"name": "x", "scopes": ["read"]},
    ("POST", "api/v1/agent/join"): {"name": "n9", "claim": "c" * 40, "hardware": hardware("n9")},
    ("POST", "jobs/new"): ASKED | {"key": "k"},
    ("POST", "signin"): {"email": "nobody@example.org", "password": PASSWORD},
}


@pytest.fixture
def subjects(stage_now: Stage) -> Subjects:
    stage_now.add_nodes("n1")
    job = stage_now.submit()
    run = stage_now.running(job)
    with_token(stage_now.people["mira"], stage_now.now)
    return Subjects(stage_now, job, run, Token.objects.get(user=stage_now.people["mira"]))


def address(door: Door, values: dict[str, Any]) -> str:
    parts = re.sub(r"<(?:\w+:)?(\w+)>", lambda part: str(values[part[1]]), door.route)
    return f"/{parts}" + ("?offset=0" if door.route.endswith("/log") else "")


def knock(subjects: Subjects, door: Door, who: str, scopes: list[str] | None = None) -> HttpResponse:
    """One request as somebody; what it wrote is taken back."""
    client, headers = Client(raise_request_exception=True), {}
    stage = subjects.stage
    with transaction.atomic():
        if who == "node":
            headers["Authorization"] = f"Bearer {http_token(stage.agents['n1'].node)}"
        elif who != "nobody" and door.is_api:
            headers |= with_token(stage.people[who], stage.now, scopes).headers
        elif who != "nobody":
            client.force_login(stage.people[who])
        body = BODIES.get((door.method, door.route.removesuffix("$")), {})
        sent = json.dumps(body) if door.is_api else body
        kind = {"content_type": "application/json"} if door.is_api else {}
        path = address(door, subjects.values(door))
        call = getattr(client, door.method.lower())
        answer = (
            call(path, headers=headers) if door.method == "GET" else call(path, sent, headers=headers, **kind)
        )
        transaction.set_rollback(True)
    return answer


def admitted(door: Door, answer: HttpResponse) -> bool:
    """Whether the door opened; what it then says of the request is another matter."""
    assert answer.status_code < 500, f"{door} broke: {answer.status_code}"
    to_sign_in = urlsplit(answer.headers.get("Location", "")).path == resolve_url(settings.LOGIN_URL)
    if to_sign_in and door.name != "signout":
        return False
    if (door.method, door.route) == ("POST", "jobs/new"):  # a team that is not one's own is not on the form
        return answer.status_code == 302
    if door.kwargs == ("rest",):  # opens, and says that there is nothing
        return answer.status_code == 404
    return answer.status_code not in (401, 403, 404)


def expected(subjects: Subjects, door: Door, who: str) -> bool:
    roles = subjects.roles(who, door)
    if (door.method, door.route) == (
        "GET",
        "jobs/new",
    ):  # the form tells those without a team where to get one
        return Role.PERSON in roles
    return bool(door.needs.roles & roles)


def tried(subjects: Subjects, door: Door) -> list[str]:
    """What the table says otherwise. A method that the address does not have opens for nobody."""
    answers = {who: knock(subjects, door, who) for who in ["nobody", *PEOPLE, "node"]}
    return [
        f"{door} ({door.rule}) answers {who} with {answer.status_code}; the table says otherwise"
        for who, answer in answers.items()
        if answer.status_code != 405 and admitted(door, answer) != expected(subjects, door, who)
    ]


# Together by the first part of the address: a stage for each door would take longer than the walk.
HALLS = sorted({door.route.removeprefix("api/v1/").partition("/")[0] for door in DOORS})


@pytest.mark.parametrize("hall", HALLS)
def test_the_doors_open_for_whom_the_table_says_and_for_nobody_else(subjects: Subjects, hall: str) -> None:
    here = [door for door in DOORS if door.route.removeprefix("api/v1/").partition("/")[0] == hall]
    wrong = [line for door in here for line in tried(subjects, door)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_a_token_opens_a_door_only_with_its_scope(subjects: Subjects) -> None:
    for door in DOORS:
        if not door.is_api or door.needs.roles & {Role.ANYONE, Role.NODE}:
            continue  # no token of a person opens it, or nobody needs one
        least = [door.needs.scope.value]
        who = next(person for person in PEOPLE if expected(subjects, door, person))
        refused = knock(subjects, door, who, [scope for scope in ALL_SCOPES if scope not in least])
        assert (refused.status_code, json.loads(refused.content)["code"]) == (403, "scope"), str(door)
        if door.rule == "token.make":  # what is asked for in BODIES must be in the token as well
            least.append("read")
        assert admitted(door, knock(subjects, door, who, least)), str(door)


def test_the_walk_finds_the_doors_it_should() -> None:
    rules = {door.rule for door in DOORS}
    unused = set(RULES) - rules
    assert not unused, f"the table speaks of {unused}, which no door asks for"
    assert {str(door) for door in DOORS} >= {
        "GET /api/v1/jobs", "POST /api/v1/jobs", "GET /api/v1/jobs/<number>", "DELETE /api/v1/tokens/<token_id>",
        "GET /healthz", "POST /signin", "GET /jobs/<int:number>",
    }  # fmt: skip
