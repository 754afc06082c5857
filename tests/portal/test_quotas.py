"""Quotas: what a team owns, may borrow and lends, set by administrators on its page and over the API."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from portal.accounts.models import Team
from portal.cycle import snapshot
from portal.journal.models import Entry
from portal.quotas.actions import surplus_stamp
from portal.quotas.models import Quota, said
from scheduler.core.model import Share
from tests.portal.caller import problem, with_token
from tests.portal.stage import Stage

AT = "/teams/vision/quotas"


@pytest.fixture
def noor(stage_now: Stage, signed_in: Callable[..., Client]) -> Client:
    return signed_in(stage_now.people["noor"])


def form_on(page: str, action: str) -> dict[str, str]:
    """The fields of one form as they stand; those of a type end in own, borrow and lend."""
    form = page[page.index(f'action="{action}"') :]
    form = form[: form.index("</form>")]
    found = re.findall(r"<input[^>]*>", form)
    fields = {re.search(r'name="([^"]*)"', one)[1]: re.search(r'value="([^"]*)"', one) for one in found}
    return {name: value[1] if value else "" for name, value in fields.items()}


def filled(form: dict[str, str], **parts: str) -> dict[str, str]:
    """The form with other numbers for its only type."""
    return {name: parts.get(name.rpartition("-")[2], value) for name, value in form.items()}


# ---- In words

SAID = {
    "own 64, may borrow 32, lends up to 64": Share(64, 32, 64),
    "own 1,024, may not borrow, lends all it leaves idle": Share(1024, 0, None),
    "own 0, may borrow without limit, lends nothing": Share(0, None, 0),
    "no quota": None,
}


@pytest.mark.parametrize(("words", "share"), SAID.items(), ids=SAID)
def test_a_quota_is_said_in_plain_words(words: str, share: Share | None) -> None:
    assert said(share) == words


# ---- The page


def test_a_quota_is_set_lifted_rung_and_told(
    stage_now: Stage, noor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings: list[int] = []
    monkeypatch.setattr("portal.bell.ring", lambda: rings.append(1))
    stage_now.add_nodes("n1")
    rings.clear()
    form = form_on(noor.get("/teams/vision").text, AT)
    assert noor.post(AT, filled(form, own="48"))["Location"] == "/teams/vision"
    assert Quota.objects.get(team=stage_now.teams["vision"]).share == Share(48, 0, None)
    assert len(rings) == 1
    page = noor.get("/teams/vision").text
    assert "48\u00a0×\u00a0H100 for vision, but approved nodes have 8." in page
    assert "H100: own 48, may not borrow, lends all it leaves idle" in page
    assert "Somebody changed these quotas meanwhile" in noor.post(AT, filled(form, own="1")).text
    assert noor.post(AT, filled(form_on(page, AT), own="", borrow="", lend="")).status_code == 302
    assert not Quota.objects.exists()
    told = Entry.objects.filter(kind="team", verb="quota").order_by("id")
    assert [entry.sentence for entry in told] == [
        "Quota of vision: H100 no quota → own 48, may not borrow, lends all it leaves idle",
        "Quota of vision: H100 own 48, may not borrow, lends all it leaves idle → no quota",
    ]
    assert told[0].actor == stage_now.people["noor"]


def test_more_promised_than_there_is_is_said_where_it_is_promised(stage_now: Stage, noor: Client) -> None:
    stage_now.add_nodes("n1")
    for team, nominal in (("vision", 6), ("language", 4)):
        Quota.objects.create(team=stage_now.teams[team], gpu_type="H100", nominal=nominal)
    words = "10\u00a0×\u00a0H100 are promised in all (language and vision), but approved nodes have 8."
    assert words in noor.get("/teams/vision").text
    # What a team divides among those below it is promised once.
    Quota.objects.create(team=stage_now.teams["research"], gpu_type="H100", nominal=8)
    page = noor.get("/teams/vision").text
    assert "promised in all" not in page
    assert "The teams below research have 10\u00a0×\u00a0H100 together" in page


def test_borrowing_and_lending_are_set_beside_what_is_owned(stage_now: Stage, noor: Client) -> None:
    stage_now.add_nodes("n1")
    form = form_on(noor.get("/teams/vision").text, AT)
    assert noor.post(AT, filled(form, own="6", borrow="2", lend="4")).status_code == 302
    assert Quota.objects.get().share == Share(6, 2, 4)
    form = form_on(noor.get("/teams/vision").text, AT)
    assert sorted(value for name, value in form.items() if name.startswith("gpu-")) == ["2", "4", "6"]
    assert noor.post(AT, filled(form, borrow="", lend="")).status_code == 302
    assert Quota.objects.get().share == Share(6, None, None)


WRONG = {
    "less than nothing": ({"own": "-1"}, "own", "greater than or equal to 0"),
    "more than anybody has": ({"own": "1000001"}, "own", "less than or equal to 1000000"),
    "no number": ({"borrow": "many", "own": "4"}, "borrow", "Enter a whole number"),
    "lending more than it owns": ({"own": "4", "lend": "5"}, "lend", "at most 4"),
    "lending without owning": ({"own": "", "lend": "5"}, "own", "Say first how many are its own"),
}


@pytest.mark.parametrize(("typed", "field", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_said_at_its_field(
    stage_now: Stage, noor: Client, typed: dict[str, str], field: str, words: str
) -> None:
    stage_now.add_nodes("n1")
    form = form_on(noor.get("/teams/vision").text, AT)
    page = noor.post(AT, filled(form, **typed)).text
    error = re.search(rf'id="quota-gpu-\w+-{field}-error">([^<]*)<', page)
    assert error is not None
    assert words in error[1]
    assert not Quota.objects.exists()


def test_promising_more_than_there_is_is_shown_and_not_refused(stage_now: Stage, noor: Client) -> None:
    stage_now.add_nodes("n1")
    for team, nominal in (("research", 8), ("vision", 6), ("language", 4)):
        Quota.objects.create(team=stage_now.teams[team], gpu_type="H100", nominal=nominal)
    for team in ("research", "vision"):
        page = noor.get(f"/teams/{team}").text
        assert "The teams below research have 10\u00a0×\u00a0H100 together" in page
        assert "research has 8." in page
    Quota.objects.filter(team=stage_now.teams["language"]).update(nominal=2)
    assert "is-warning" not in noor.get("/teams/research").text


def test_a_portal_without_nodes_says_when_quotas_can_be_set(stage_now: Stage, noor: Client) -> None:
    assert "No GPU types yet" in noor.get("/teams/vision").text


# ---- What is left over


def test_weight_and_priority_are_set_told_and_never_unseen(stage_now: Stage, noor: Client) -> None:
    at, vision = "/teams/vision/surplus", stage_now.teams["vision"]
    form = form_on(noor.get("/teams/vision").text, at)
    assert (form["weight"], form["priority"]) == ("1.0", "0")
    assert noor.post(at, form | {"weight": "2.5", "priority": "3"})["Location"] == "/teams/vision"
    vision.refresh_from_db()
    assert (vision.weight, vision.priority) == (2.5, 3)
    assert "Somebody changed these quotas meanwhile" in noor.post(at, form | {"weight": "9"}).text
    told = Entry.objects.get(kind="team", verb="surplus")
    assert told.sentence == "Left-over GPUs for vision: weight 1, priority 0 → weight 2.5, priority 3"
    fresh = form_on(noor.get("/teams/vision").text, at)
    assert noor.post(at, fresh).status_code == 302
    assert Entry.objects.filter(verb="surplus").count() == 1
    for field, wrong in (("weight", "-1"), ("weight", "nan"), ("weight", "1001"), ("priority", "1.5")):
        assert f'id="surplus-{field}-error"' in noor.post(at, fresh | {field: wrong}).text


# ---- The API


def put(caller: Any, body: dict[str, Any]) -> Any:
    return caller.client.put(
        "/api/v1/teams/vision/quota", body, content_type="application/json", headers=caller.headers
    )


def test_the_api_shows_quotas_to_everybody_and_sets_them_for_administrators(stage_now: Stage) -> None:
    mira, noor = (with_token(stage_now.people[name], stage_now.now) for name in ("mira", "noor"))
    seen = mira.get("/teams/vision/quota").json()
    assert (seen["team"], seen["quota"], seen["weight"], seen["priority"]) == ("vision", {}, 1.0, 0)
    asked = {"quota": {"H100": {"nominal": 8, "borrow": None, "lend": 4}}, "seen": seen["seen"]}
    assert put(mira, asked).status_code == 403
    body = put(noor, asked | {"weight": 2.0}).json()
    assert body["quota"] == {"H100": {"nominal": 8, "borrow": None, "lend": 4}}
    assert body["weight"] == 2.0
    assert problem(put(noor, asked))["code"] == "conflict"
    assert put(noor, {"quota": {}, "seen": body["seen"]}).json()["quota"] == {}
    assert not Quota.objects.exists()


REFUSED = {
    "lending more than it owns": ({"quota": {"H100": {"nominal": 1, "lend": 2}}}, "H100.lend"),
    "less than nothing": ({"quota": {"H100": {"nominal": -1}}}, "H100.nominal"),
    "a type that is no word": ({"quota": {"H\n": {"nominal": 1}}}, "quota"),
    "a weight of nobody": ({"quota": {}, "weight": -1.0}, "weight"),
    "a priority out of reach": ({"quota": {}, "priority": 101}, "priority"),
}


@pytest.mark.parametrize(("asked", "field"), REFUSED.values(), ids=REFUSED)
def test_the_api_names_the_field_that_cannot_be_and_changes_nothing(
    stage_now: Stage, asked: dict[str, Any], field: str
) -> None:
    noor = with_token(stage_now.people["noor"], stage_now.now)
    seen = noor.get("/teams/vision/quota").json()["seen"]
    refused = problem(put(noor, asked | {"seen": seen}))
    assert (refused["status"], refused["field"]) == (422, field)
    assert not Quota.objects.exists()
    assert surplus_stamp(Team.objects.get(name="vision")) == "weight 1, priority 0"


# ---- The database, and the planner


def test_the_database_itself_refuses_what_no_team_can_be_owed(stage: Stage) -> None:
    wrong = [{"nominal": 4, "lend": 5}, {"nominal": -1}, {"nominal": 1, "borrow": -1}]
    for terms in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            Quota.objects.create(team=stage.teams["vision"], gpu_type="H100", **terms)
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(IntegrityError), transaction.atomic():
            Team.objects.filter(name="vision").update(weight=weight)


def test_the_planner_gets_the_tree_with_its_shares(stage: Stage) -> None:
    Quota.objects.create(team=stage.teams["vision"], gpu_type="H100", nominal=6, borrow=None, lend=2)
    Team.objects.filter(name="vision").update(weight=2.0, priority=1)
    teams = {team.name: team for team in snapshot.of_hardware(now=stage.now).teams}
    vision = teams["vision"]
    assert (vision.parent, vision.quota, vision.weight, vision.priority) == (
        "research", {"H100": Share(6, None, 2)}, 2.0, 1,
    )  # fmt: skip
    assert (teams["research"].parent, teams["research"].quota) == (None, {})


def test_a_quota_without_further_terms_is_a_limit_as_it_always_was(stage: Stage) -> None:
    assert Quota.objects.create(team=stage.teams["vision"], gpu_type="H100", nominal=4).share == Share(
        4, 0, None
    )
