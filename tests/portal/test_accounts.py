"""Accounts: passwords, closing and opening, addresses in any case, and what a person is to a team."""

import pytest
from django.contrib.auth import authenticate
from django.db import IntegrityError, connection, transaction
from django.test import Client

from portal.accounts import actions
from portal.accounts.models import Team, User
from portal.accounts.queries import standing
from portal.accounts.rules import RULES, Role
from portal.errors import Conflict, Forbidden, Refusal
from portal.journal.models import Entry
from tests.portal.conftest import counted
from tests.portal.stage import PASSWORD, Stage


def test_a_new_password_ends_every_other_session(stage: Stage) -> None:
    mira, elsewhere = stage.people["mira"], Client()
    elsewhere.force_login(mira)
    assert elsewhere.get("/api/v1/jobs").status_code == 200
    actions.change_password(user=mira, old=PASSWORD, new="battery staple 9", now=stage.now)
    assert elsewhere.get("/api/v1/jobs").status_code == 401
    assert authenticate(username="mira@example.org", password=PASSWORD) is None
    assert authenticate(username="mira@example.org", password="battery staple 9") == mira
    assert Entry.objects.get(kind="person").sentence == "Mira Okafor changed their password"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("wrong", "battery staple 9", "old"),
        (PASSWORD, "short", "new"),
        (PASSWORD, "password123", "new"),
        (PASSWORD, "mira@example.org", "new"),
    ],
)
def test_a_wrong_or_weak_password_changes_nothing(stage: Stage, old: str, new: str, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        actions.change_password(user=stage.people["mira"], old=old, new=new, now=stage.now)
    assert refused.value.field == field
    assert User.objects.get(email="mira@example.org").check_password(PASSWORD)
    assert not Entry.objects.filter(kind="person").exists()


def test_closing_an_account_keeps_its_jobs_and_opening_it_brings_it_back(stage: Stage) -> None:
    stage.add_nodes("n1")
    mira, noor = stage.people["mira"], stage.people["noor"]
    job = stage.submit()
    actions.set_active(user=mira, active=False, by=noor, now=stage.now)
    actions.set_active(user=mira, active=False, by=noor, now=stage.now)
    assert authenticate(username="mira@example.org", password=PASSWORD) is None
    stage.turn()
    job.refresh_from_db()
    assert job.phase == "starting"
    actions.set_active(user=mira, active=True, by=noor, now=stage.now)
    assert authenticate(username="mira@example.org", password=PASSWORD) == mira
    told = Entry.objects.filter(kind="person").order_by("id")
    assert [entry.sentence for entry in told] == ["Mira Okafor deactivated", "Mira Okafor activated"]


def test_nobody_closes_their_own_account(stage: Stage) -> None:
    with pytest.raises(Conflict):
        actions.set_active(user=stage.people["noor"], active=False, by=stage.people["noor"], now=stage.now)


def test_an_address_counts_once_in_any_case_and_opens_in_any_case(stage: Stage) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create_user("MIRA@example.org", PASSWORD, full_name="Another")
    assert authenticate(username="Mira@Example.org", password=PASSWORD) == stage.people["mira"]


def test_a_lead_leads_every_team_below_and_none_beside(stage: Stage) -> None:
    deep = Team.objects.create(name="deep", parent=stage.teams["vision"])
    rhea, yuki = standing(stage.people["rhea"]), standing(stage.people["yuki"])
    assert rhea.lead_of == {team.pk for team in (*stage.teams.values(), deep)}
    assert yuki.lead_of == {stage.teams["vision"].pk, deep.pk}
    assert Role.LEAD not in yuki.roles(team_id=stage.teams["research"].pk)


def test_a_member_is_no_member_of_teams_above_or_below(stage: Stage) -> None:
    deep = Team.objects.create(name="deep", parent=stage.teams["vision"])
    mira = standing(stage.people["mira"])
    assert mira.roles(team_id=stage.teams["vision"].pk) >= {Role.MEMBER}
    for team in (deep, stage.teams["research"], stage.teams["language"]):
        assert Role.MEMBER not in mira.roles(team_id=team.pk)


def test_a_loop_in_the_tree_ends(stage: Stage) -> None:
    with connection.cursor() as past_the_guard:
        past_the_guard.execute("SET CONSTRAINTS ALL IMMEDIATE")
        past_the_guard.execute("ALTER TABLE accounts_team DISABLE TRIGGER accounts_team_no_circle")
    Team.objects.filter(name="research").update(parent=stage.teams["vision"])
    assert standing(stage.people["rhea"]).lead_of >= {stage.teams["vision"].pk}


def test_standing_takes_two_queries_at_most(stage: Stage) -> None:
    for who, queries_wanted in (("mira", 1), ("rhea", 2)):
        with counted() as queries:
            standing(stage.people[who])
        assert len(queries) == queries_wanted


def test_a_refusal_says_who_may_instead(stage: Stage) -> None:
    with pytest.raises(Forbidden, match=r"it takes one of: administrator\."):
        standing(stage.people["mira"]).require("node.drain")


def test_every_rule_names_somebody() -> None:
    assert [name for name, rule in RULES.items() if not rule.roles] == []
