"""People made and changed by administrators, and the first password: as a browser without JavaScript sees it."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from portal.accounts.models import Membership, User
from portal.accounts.roster import first_password
from portal.journal.models import Entry
from tests.portal.caller import with_token
from tests.portal.stage import PASSWORD, Stage

SignIn = Callable[..., Client]
HOSTILE = "<script>alert(1)</script>'\"&"
NEW = {"email": "lena@example.org", "full_name": "Lena Brandt", "team": "vision", "role": "lead"}


def secret_of(page: str) -> str:
    found = re.search(r'id="secret">([^<]+)<', page)
    assert found, "no first password on the page"
    return found[1]


def seen_on(page: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', page)
    assert found
    return found[1]


@pytest.fixture
def noor(stage_now: Stage, signed_in: SignIn) -> Client:
    return signed_in(stage_now.people["noor"])


def change(client: Client, who: User, **asked: object) -> object:
    """Save the form of a person as it stands on their page, with these changes."""
    page = client.get(f"/people/{who.pk}").text
    return client.post(f"/people/{who.pk}", {"full_name": who.full_name, "seen": seen_on(page)} | asked)


# ---- A new person


def test_a_new_person_gets_a_first_password_that_is_shown_once(stage_now: Stage, noor: Client) -> None:
    made = noor.post("/people/new", NEW | {"roles": ["finance"]})
    secret = secret_of(made.text)
    assert made["Cache-Control"] == "no-store"
    lena = User.objects.get(email="lena@example.org")
    assert lena.check_password(secret)
    assert (lena.is_finance, lena.is_administrator, lena.must_change_password) == (True, False, True)
    assert Membership.objects.get(user=lena).role == "lead"
    for address in ("/people", f"/people/{lena.pk}", "/people/new"):
        assert secret not in noor.get(address).text
    assert secret not in str(noor.session.items())
    told = list(Entry.objects.filter(kind="person", subject=lena.pk).order_by("id"))
    assert [entry.sentence for entry in told] == [
        "Lena Brandt made, finance",
        "Lena Brandt added as lead of vision",
    ]
    assert all(entry.actor == stage_now.people["noor"] and secret not in str(entry.facts) for entry in told)


def test_first_passwords_are_long_and_never_the_same() -> None:
    made = {first_password() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch(r"([a-z2-9]{4}-){3}[a-z2-9]{4}", one) for one in made)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"email": "MIRA@example.org"}, "Somebody has this e-mail already"),
        ({"email": "not an address"}, "Enter a valid email address"),
        ({"full_name": "a\u202eb"}, "Give a name of 1 to 100 characters"),
        ({"full_name": ""}, "This field is required"),
        ({"team": "nowhere"}, "Select a valid choice"),
        ({"roles": ["king"]}, "Select a valid choice"),
        ({"role": "king"}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_is_said_beside_what_was_typed(
    stage_now: Stage, noor: Client, wrong: dict[str, object], sentence: str
) -> None:
    page = noor.post("/people/new", NEW | {"full_name": HOSTILE} | wrong).text
    assert sentence in page
    if "full_name" not in wrong:
        assert "&lt;script&gt;alert(1)" in page
        assert HOSTILE not in page
    assert User.objects.count() == 7
    assert not Entry.objects.filter(kind="person").exists()


def test_a_hostile_name_is_only_a_name(stage_now: Stage, noor: Client) -> None:
    made = noor.post("/people/new", NEW | {"full_name": HOSTILE}).text
    lena = User.objects.get(email="lena@example.org")
    pages = [noor.get(at).text for at in ("/people", f"/people/{lena.pk}", "/teams/vision")]
    pages += [noor.get(f"/people/{lena.pk}/{what}").text for what in ("password", "deactivate")]
    for page in [made, *pages]:
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert HOSTILE not in page


# ---- The first password


def test_until_it_is_changed_every_page_leads_to_the_password_form(
    stage_now: Stage, noor: Client, client: Client
) -> None:
    secret = secret_of(noor.post("/people/new", NEW).text)
    client.post("/signin", {"email": "lena@example.org", "password": secret})
    for address in ("/", "/jobs", "/account", "/queue", "/cluster"):
        assert client.get(address)["Location"] == "/account/first-password"
    assert client.post("/account/tokens", {"name": "x"})["Location"] == "/account/first-password"
    assert client.get("/jobs", headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    refused = client.get("/api/v1/jobs")
    assert (refused.status_code, refused.json()["code"]) == (403, "change_password")
    assert "choose your own first" in refused.json()["detail"]
    assert "Choose your password" in client.get("/account/first-password").text
    same = {"old": secret, "new": secret, "again": secret}
    assert "choose another one" in client.post("/account/first-password", same).text
    own = {"old": secret, "new": "battery staple 9", "again": "battery staple 9"}
    wrong = client.post("/account/first-password", own | {"old": "wrong"}).text
    assert "not your present password" in wrong
    assert client.post("/account/first-password", own)["Location"] == "/"
    assert client.get("/").status_code == 200
    assert client.get("/api/v1/jobs").status_code == 200
    assert client.get("/account/first-password")["Location"] == "/account"


def test_signing_out_always_works(stage_now: Stage, signed_in: SignIn) -> None:
    User.objects.filter(email="mira@example.org").update(must_change_password=True)
    client = signed_in(stage_now.people["mira"])
    assert client.post("/signout")["Location"] == "/signin"
    assert "_auth_user_id" not in client.session


def test_a_reset_ends_sessions_rests_tokens_and_opens_with_a_new_first_password(
    stage_now: Stage, noor: Client, signed_in: SignIn, client: Client
) -> None:
    mira = stage_now.people["mira"]
    theirs, program = signed_in(mira), with_token(mira, stage_now.now)
    assert "Reset the password of Mira Okafor?" in noor.get(f"/people/{mira.pk}/password").text
    assert theirs.get("/account").status_code == 200
    reset = noor.post(f"/people/{mira.pk}/password")
    secret = secret_of(reset.text)
    assert reset["Cache-Control"] == "no-store"
    assert theirs.get("/account")["Location"].startswith("/signin")
    assert client.get("/api/v1/jobs", headers=program.headers).json()["code"] == "change_password"
    assert client.post("/signin", {"email": mira.email, "password": PASSWORD}).status_code == 200
    assert client.post("/signin", {"email": mira.email, "password": secret}).status_code == 302
    assert client.get("/")["Location"] == "/account/first-password"
    told = Entry.objects.get(kind="person", subject=mira.pk)
    assert (told.sentence, told.actor) == ("New first password for Mira Okafor", stage_now.people["noor"])
    assert secret not in str(told.facts)


def test_nobody_resets_their_own_password(stage_now: Stage, noor: Client) -> None:
    assert noor.post(f"/people/{stage_now.people['noor'].pk}/password").status_code == 409
    assert noor.get("/people").status_code == 200


# ---- Changing a person


def test_name_and_roles_change_and_the_journal_says_who_did_it(stage_now: Stage, noor: Client) -> None:
    mira = stage_now.people["mira"]
    assert change(noor, mira, full_name="Mira  Okafor-Lind", roles=["finance"]).status_code == 302
    mira.refresh_from_db()
    assert (mira.full_name, mira.is_finance, mira.is_administrator) == ("Mira Okafor-Lind", True, False)
    told = Entry.objects.get(kind="person", subject=mira.pk)
    assert told.sentence == "Mira Okafor changed to Mira Okafor-Lind, finance"
    assert "by Noor Haddad" in noor.get(f"/people/{mira.pk}").text
    change(noor, mira, roles=["finance"])
    assert Entry.objects.filter(kind="person", subject=mira.pk).count() == 1


def test_what_another_administrator_saved_meanwhile_is_not_overwritten_unseen(
    stage_now: Stage, noor: Client
) -> None:
    mira = stage_now.people["mira"]
    stale = seen_on(noor.get(f"/people/{mira.pk}").text)
    change(noor, mira, roles=["finance"])
    page = noor.post(f"/people/{mira.pk}", {"full_name": "Mira O.", "seen": stale}).text
    assert "Somebody changed this person meanwhile; now it is Mira Okafor, finance." in page
    assert 'value="Mira O."' in page
    assert User.objects.get(pk=mira.pk).is_finance
    again = {"full_name": "Mira O.", "seen": seen_on(page)}
    assert noor.post(f"/people/{mira.pk}", again).status_code == 302


def test_nobody_changes_their_own_administrator_role(stage_now: Stage, noor: Client) -> None:
    me = stage_now.people["noor"]
    page = noor.get(f"/people/{me.pk}").text
    assert "only another one can change that" in page
    assert 'value="administrator"' not in page
    assert change(noor, me, full_name="Noor H.", roles=["finance"]).status_code == 302
    me.refresh_from_db()
    assert (me.full_name, me.is_administrator, me.is_finance) == ("Noor H.", True, True)


def test_teams_are_given_changed_and_taken(stage_now: Stage, noor: Client) -> None:
    ines = stage_now.people["ines"]
    at = f"/people/{ines.pk}/team"
    for role, want in (("member", ["member"]), ("lead", ["lead"]), ("lead", ["lead"]), ("", []), ("", [])):
        assert noor.post(at, {"team": "vision", "role": role})["Location"] == f"/people/{ines.pk}"
        assert list(Membership.objects.filter(user=ines).values_list("role", flat=True)) == want
    told = Entry.objects.filter(kind="person", subject=ines.pk).order_by("id")
    assert [entry.sentence for entry in told] == [
        "Ines Duarte added as member of vision",
        "Ines Duarte is now lead of vision",
        "Ines Duarte removed from vision",
    ]
    assert Entry.objects.filter(kind="team", subject=stage_now.teams["vision"].pk).count() == 3
    assert "Choose a team." in noor.post(at, {"role": "member"}).text


@pytest.mark.parametrize("address", ["/people/999999", "/people/999999/password", "/people/9" + "9" * 30])
def test_who_is_not_there_has_no_page(stage_now: Stage, noor: Client, address: str) -> None:
    assert noor.get(address).status_code == 404


@pytest.mark.parametrize("who", ["mira", "yuki", "rhea", "ines"])
def test_only_administrators_make_and_change_people(stage_now: Stage, signed_in: SignIn, who: str) -> None:
    client, ravi = signed_in(stage_now.people[who]), stage_now.people["ravi"].pk
    before = list(User.objects.order_by("pk").values())
    assert client.get("/people/new").status_code == 403
    for address, asked in (
        ("/people/new", NEW),
        (f"/people/{ravi}", {"full_name": "x", "roles": ["administrator"]}),
        (f"/people/{ravi}/team", {"team": "language", "role": "lead"}),
        (f"/people/{ravi}/password", {}),
    ):
        assert client.post(address, asked).status_code == 403
    stage_now.people[who].refresh_from_db()
    assert [row | {"last_login": None} for row in User.objects.order_by("pk").values()] == [
        row | {"last_login": None} for row in before
    ]
    assert not Entry.objects.filter(kind="person").exists()


def test_a_person_page_asks_the_database_no_more_for_ten_teams_than_for_one(
    stage_now: Stage, noor: Client, django_assert_num_queries: Callable[..., object]
) -> None:
    from portal.accounts.models import Team

    mira = stage_now.people["mira"]
    with django_assert_num_queries(10) as few:
        noor.get(f"/people/{mira.pk}")
    for i in range(10):
        Membership.objects.create(user=mira, team=Team.objects.create(name=f"t{i}"))
    with django_assert_num_queries(len(few)):
        noor.get(f"/people/{mira.pk}")
