"""Teams made, moved, filled and limited by administrators; and what two administrators at once cannot do."""

import threading
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from portal.accounts import actions, roster, tree
from portal.accounts.models import Membership, Team, User
from portal.errors import Conflict, Refusal
from portal.journal.models import Entry
from tests.portal.stage import Stage

SignIn = Callable[..., Client]


@pytest.fixture
def noor(stage_now: Stage, signed_in: SignIn) -> Client:
    return signed_in(stage_now.people["noor"])


# ---- Making and moving


def test_a_new_team_has_a_place_a_colour_and_a_page(stage_now: Stage, noor: Client) -> None:
    assert noor.post("/teams/new", {"name": "speech", "parent": "research"})["Location"] == "/teams/speech"
    speech = Team.objects.get(name="speech")
    assert (speech.parent, speech.kind) == (stage_now.teams["research"], 1)
    page = noor.get("/teams/speech").text
    for words in ("part of", "/teams/research", "Nobody yet", "Team speech made below research"):
        assert words in page
    told = Entry.objects.get(kind="team", subject=speech.pk)
    assert told.actor == stage_now.people["noor"]


def test_from_the_eighth_team_on_they_share_the_grey(stage: Stage) -> None:
    made = [
        tree.make_team(name=f"t{i}", parent=None, by=stage.people["noor"], now=stage.now) for i in range(9)
    ]
    assert [team.kind for team in made] == [1, 2, 3, 4, 5, 6, 7, 0, 0]


@pytest.mark.parametrize("name", ["new", "Vision", "a b", "-a", "<b>", "vision", "", "x" * 41, "é"])
def test_an_unfit_or_taken_team_name_is_refused_and_kept_on_the_form(
    stage_now: Stage, noor: Client, name: str
) -> None:
    page = noor.post("/teams/new", {"name": name})
    assert page.status_code == 200
    assert 'id="id_name-error"' in page.text
    assert "<b>" not in page.text.split("<form")[-1].replace("<b>Berth", "")
    assert Team.objects.count() == 3


def test_moving_changes_the_tree_and_nothing_moves_below_itself(stage_now: Stage, noor: Client) -> None:
    at, vision, research = "/teams/research/parent", stage_now.teams["vision"], stage_now.teams["research"]
    for below in ("research", "vision"):
        page = noor.post(at, {"parent": below, "seen": ""}).text
        assert f"{below} is research itself or below it; choose another parent." in page
    moved = noor.post("/teams/vision/parent", {"parent": "", "seen": str(research.pk)})
    assert moved["Location"] == "/teams/vision"
    vision.refresh_from_db()
    assert vision.parent is None
    assert noor.post(at, {"parent": "vision", "seen": ""}).status_code == 302
    assert Entry.objects.get(kind="team", subject=research.pk).sentence == "Team research moved below vision"


def test_a_team_that_moved_meanwhile_is_not_moved_again_unseen(stage_now: Stage, noor: Client) -> None:
    page = noor.post("/teams/vision/parent", {"parent": "", "seen": ""}).text
    assert "Somebody moved this team meanwhile" in page


def test_the_database_itself_refuses_a_circle(stage: Stage) -> None:
    with pytest.raises(IntegrityError, match="below itself"), transaction.atomic():
        Team.objects.filter(name="research").update(parent=stage.teams["vision"])
    deep = Team.objects.create(name="deep", parent=stage.teams["vision"])
    with pytest.raises(IntegrityError, match="below itself"), transaction.atomic():
        Team.objects.filter(name="research").update(parent=deep)


def test_two_moves_that_make_a_circle_only_together_do_not_both_happen(stage_shared: Stage) -> None:
    left, right = (Team.objects.create(name=name) for name in ("left", "right"))
    start, said = threading.Barrier(2, timeout=20), []

    def move(team: Team, parent: Team) -> None:
        try:
            start.wait()
            Team.objects.filter(pk=team.pk).update(parent=parent)  # past the action: the trigger alone
        except IntegrityError as why:
            said.append(str(why))
        finally:
            connection.close()

    threads = [threading.Thread(target=move, args=pair) for pair in ((left, right), (right, left))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(said) == 1
    assert Team.objects.filter(name__in=("left", "right"), parent=None).count() == 1


# ---- The last administrator


def test_the_last_active_administrator_keeps_the_role_and_the_account(stage: Stage) -> None:
    noor, yuki = stage.people["noor"], stage.people["yuki"]
    with pytest.raises(Conflict, match="the last active administrator"):
        actions.set_active(user=noor, active=False, by=yuki, now=stage.now)
    with pytest.raises(Conflict, match="the last active administrator"):
        roster.change_person(
            person=noor, full_name="Noor", roles=set(), seen=roster.stamp(noor), by=yuki, now=stage.now
        )
    User.objects.filter(pk=yuki.pk).update(is_administrator=True)
    roster.change_person(
        person=noor, full_name="Noor", roles=set(), seen=roster.stamp(noor), by=yuki, now=stage.now
    )
    assert not User.objects.get(pk=noor.pk).is_administrator


def test_two_administrators_cannot_remove_each_other_at_once(stage_shared: Stage) -> None:
    User.objects.filter(email="yuki@example.org").update(is_administrator=True)
    noor, yuki = (User.objects.get(email=f"{name}@example.org") for name in ("noor", "yuki"))
    start, refused = threading.Barrier(2, timeout=20), []

    def close(who: User, by: User) -> None:
        try:
            start.wait()
            actions.set_active(user=who, active=False, by=by, now=stage_shared.now)
        except Conflict as why:
            refused.append(why.sentence)
        finally:
            connection.close()

    threads = [threading.Thread(target=close, args=pair) for pair in ((noor, yuki), (yuki, noor))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(refused) == 1
    assert User.objects.filter(is_administrator=True, is_active=True).count() == 1


# ---- Members


def test_members_come_by_address_change_role_and_go(stage_now: Stage, noor: Client) -> None:
    at, ines = "/teams/vision/members", stage_now.people["ines"]
    for role in ("member", "lead"):
        assert noor.post(at, {"email": "INES@example.org", "role": role})["Location"] == "/teams/vision"
        assert Membership.objects.get(user=ines).role == role
    assert noor.post(at, {"email": "ines@example.org", "role": ""}).status_code == 302
    assert not Membership.objects.filter(user=ines).exists()
    page = noor.post(at, {"email": "nobody@example.org", "role": "member"}).text
    assert "Nobody has this e-mail" in page
    assert 'value="nobody@example.org"' in page


def test_an_unknown_role_is_refused(stage: Stage) -> None:
    with pytest.raises(Refusal, match="Choose one of: member, lead"):
        roster.set_membership(
            person=stage.people["ines"], team=stage.teams["vision"], role="king", by=stage.people["noor"],
            now=stage.now,
        )  # fmt: skip


# ---- Who, and at what cost


@pytest.mark.parametrize("who", ["mira", "yuki", "rhea", "ines"])
def test_only_administrators_make_and_change_teams(stage_now: Stage, signed_in: SignIn, who: str) -> None:
    client = signed_in(stage_now.people[who])
    for address, asked in (
        ("/teams/new", {"name": "mine"}),
        ("/teams/vision/parent", {"parent": ""}),
        ("/teams/vision/quotas", {}),
        ("/teams/vision/surplus", {"weight": "2", "priority": "1"}),
        ("/teams/vision/members", {"email": "ines@example.org", "role": "lead"}),
    ):
        assert client.post(address, asked).status_code == 403
    assert client.get("/teams/vision").status_code == 403
    assert not Entry.objects.filter(kind="team").exists()


def test_a_team_that_is_not_there_has_no_page(stage_now: Stage, noor: Client) -> None:
    assert noor.get("/teams/nowhere").status_code == 404


def test_a_team_page_asks_the_database_no_more_for_fifty_members_than_for_three(
    stage_now: Stage, noor: Client, django_assert_num_queries: Callable[..., object]
) -> None:
    with django_assert_num_queries(13) as few:
        noor.get("/teams/vision")
    for i in range(50):
        user = User.objects.create(email=f"p{i}@example.org", full_name=f"Person {i}")
        Membership.objects.create(user=user, team=stage_now.teams["vision"])
        Team.objects.create(name=f"t{i}", parent=stage_now.teams["vision"])
    with django_assert_num_queries(len(few)):
        noor.get("/teams/vision")
