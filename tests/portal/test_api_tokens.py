"""API tokens: scoped, expiring, shown once, never stored, revocable, last used; and who one is without."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client

from portal.accounts import actions
from portal.accounts.models import Token
from portal.journal.models import Entry
from tests.portal.caller import Caller, problem, with_token
from tests.portal.stage import Stage

ASKED = {"name": "train", "team": "vision", "command": "python train.py"}


@pytest.fixture
def mira(stage_now: Stage) -> Caller:
    stage_now.add_nodes("n1")
    return with_token(stage_now.people["mira"], stage_now.now)


def test_a_secret_is_shown_once_and_stored_nowhere(mira: Caller) -> None:
    made = mira.post("/tokens", {"name": "ci", "scopes": ["read"], "days": 7}).json()
    secret = made["secret"]
    assert secret.startswith(f"berth_{made['prefix']}_")
    assert "secret" not in json.dumps(mira.get("/tokens").json())
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM accounts_token t")
        rows = "".join(row[0] for row in cursor.fetchall())
        cursor.execute("SELECT row_to_json(e)::text FROM journal_entry e")
        rows += "".join(row[0] for row in cursor.fetchall())
    assert secret not in rows
    assert secret.rpartition("_")[2] not in rows


@pytest.mark.parametrize(
    ("scopes", "may"),
    [(["read"], {"get"}), (["write"], {"post"}), (["administer"], {"make"}), (["read", "write"], {"get", "post"})],
)  # fmt: skip
def test_a_scope_opens_what_it_names_and_no_more(
    stage_now: Stage, mira: Caller, scopes: list[str], may: set[str]
) -> None:
    caller = with_token(stage_now.people["mira"], stage_now.now, scopes)
    answers = {
        "get": caller.get("/jobs"),
        "post": caller.post("/jobs", ASKED),
        "make": caller.post("/tokens", {"name": "x", "scopes": scopes}),
    }
    assert {what for what, answer in answers.items() if answer.status_code < 400} == may
    for answer in answers.values():
        if answer.status_code >= 400:
            assert (answer.status_code, problem(answer)["code"]) == (403, "scope")


def test_a_token_makes_none_that_may_do_more_than_itself(stage_now: Stage, mira: Caller) -> None:
    weak = with_token(stage_now.people["mira"], stage_now.now, ["read", "administer"])
    answer = weak.post("/tokens", {"name": "x", "scopes": ["read", "write"]})
    assert (answer.status_code, problem(answer)["field"]) == (403, "scopes")
    assert weak.post("/tokens", {"name": "x", "scopes": ["read"]}).status_code == 201


def test_an_expired_revoked_or_foreign_secret_opens_nothing(stage_now: Stage, mira: Caller) -> None:
    user = stage_now.people["mira"]
    expired = with_token(user, stage_now.now - timedelta(days=2), days=1)
    assert expired.get("/jobs").status_code == 401
    good = with_token(user, stage_now.now)
    token = Token.objects.get(prefix=good.headers["Authorization"].split("_")[1])
    assert good.get("/jobs").status_code == 200
    guesses = ["", f"{token.prefix}_", f"{token.prefix}_guess", "a\0b_c", "ß" * 50]
    for secret in ["x", "ß", *(f"berth_{guess}" for guess in guesses)]:
        answer = Caller({"Authorization": f"Bearer {secret}"}).get("/jobs")
        assert (answer.status_code, problem(answer)["code"]) == (401, "not_signed_in")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    actions.revoke_token(token=token, by=user, now=stage_now.now)
    assert good.get("/jobs").status_code == 401


def test_a_deactivated_persons_tokens_and_sessions_open_nothing(stage_now: Stage, mira: Caller) -> None:
    browser = Client()
    browser.force_login(stage_now.people["mira"])
    assert browser.get("/api/v1/jobs").status_code == 200
    actions.set_active(
        user=stage_now.people["mira"], active=False, by=stage_now.people["noor"], now=stage_now.now
    )
    assert mira.get("/jobs").status_code == 401
    assert browser.get("/api/v1/jobs").status_code == 401


def test_revoking_is_for_its_owner_and_administrators_and_doing_it_twice_is_fine(
    stage_now: Stage, mira: Caller
) -> None:
    made = mira.post("/tokens", {"name": "ci", "scopes": ["read"]}).json()
    for stranger in ("ravi", "yuki", "ines"):
        caller = with_token(stage_now.people[stranger], stage_now.now)
        assert caller.delete(f"/tokens/{made['id']}").status_code == 404
    assert Token.objects.get(pk=made["id"]).revoked_at is None
    noor = with_token(stage_now.people["noor"], stage_now.now)
    assert noor.delete(f"/tokens/{made['id']}").status_code == 204
    first = Token.objects.get(pk=made["id"]).revoked_at
    assert mira.delete(f"/tokens/{made['id']}").status_code == 204
    assert Token.objects.get(pk=made["id"]).revoked_at == first
    assert Entry.objects.filter(kind="token", verb="revoked").count() == 1
    for nobodys in (10**6, -1, 10**30):
        assert mira.delete(f"/tokens/{nobodys}").status_code == 404


def test_the_list_is_of_ones_own(stage_now: Stage, mira: Caller) -> None:
    with_token(stage_now.people["ravi"], stage_now.now)
    assert [token["name"] for token in mira.get("/tokens").json()] == ["test"]


def test_the_last_use_is_noted_to_the_minute(stage_now: Stage, mira: Caller) -> None:
    assert mira.get("/tokens").json()[0]["last_used_at"] is not None
    token = Token.objects.get()
    actions.used(token, now=token.last_used_at + timedelta(seconds=59))
    noted = Token.objects.get().last_used_at
    actions.used(token, now=noted + timedelta(seconds=61))
    assert Token.objects.get().last_used_at == noted + timedelta(seconds=61)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "a" * 61}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": "read"}, "scopes"),
        ({"days": 0}, "days"),
        ({"days": 367}, "days"),
        ({"days": 10**12}, "days"),
        ({"lives": 3}, "lives"),
    ],
)
def test_a_wrong_wish_for_a_token_is_named(stage_now: Stage, wrong: dict[str, object], field: str) -> None:
    browser = Caller()
    browser.client.force_login(stage_now.people["mira"])
    answer = browser.post("/tokens", {"name": "ci", "scopes": ["read"], "days": 1} | wrong)
    assert (answer.status_code, problem(answer)["field"]) == (422, field)
    assert not Token.objects.exists()


def test_nobody_hoards_tokens(stage_now: Stage, mira: Caller) -> None:
    for _ in range(actions.TOKENS_AT_MOST - 1):
        assert mira.post("/tokens", {"name": "x", "scopes": ["read"]}).status_code == 201
    answer = mira.post("/tokens", {"name": "x", "scopes": ["read"]})
    assert (answer.status_code, problem(answer)["detail"]) == (
        422,
        "You have 50 live tokens; revoke one first.",
    )


def test_a_session_writes_only_with_its_csrf_token(stage_now: Stage, mira: Caller) -> None:
    """Another site must not be able to submit through a signed-in browser."""
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(stage_now.people["mira"])
    assert careful.get("/api/v1/jobs").status_code == 200
    answer = careful.post("/api/v1/jobs", json.dumps(ASKED), content_type="application/json")
    assert answer.status_code == 403
    assert problem(answer)


def test_an_address_that_is_not_there_is_a_problem_too(mira: Caller) -> None:
    for missing in (mira.get("/nonsense"), mira.post("/jobs/1/2/3"), Caller().delete("/nonsense/")):
        assert (missing.status_code, problem(missing)["code"]) == (404, "not_found")
    wrong = mira.delete("/jobs")
    assert (wrong.status_code, set(wrong.headers["Allow"].split(", "))) == (405, {"GET", "POST"})


def test_the_api_describes_itself_to_anyone(stage_now: Stage) -> None:
    schema = Caller().get("/openapi.json").json()
    assert {"/api/v1/jobs", "/api/v1/jobs/{number}/why", "/api/v1/nodes", "/api/v1/teams"} <= set(
        schema["paths"]
    )
    page = Caller().get("/docs")
    assert page.status_code == 200
    assert b"openapi.json" in page.content
    assert b"cdn." not in page.content
    assert "style-src 'self' 'unsafe-inline'" in page.headers["Content-Security-Policy"]
