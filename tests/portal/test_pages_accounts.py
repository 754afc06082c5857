"""The door, one's own account and everybody's: as a browser without JavaScript sees them."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from redis import Redis

from portal.accounts.models import Membership, Team, Token, User
from portal.accounts.tries import MOST
from portal.quotas.models import Quota
from tests.portal.stage import PASSWORD, Stage

SignIn = Callable[..., Client]
HOSTILE = "<script>alert(1)</script>'\"&"


def enter(client: Client, email: str = "mira@example.org", password: str = PASSWORD, **more: str) -> object:
    return client.post("/signin", {"email": email, "password": password} | more)


# ---- The door


def test_whoever_is_not_signed_in_is_led_to_the_door_and_back(stage_now: Stage, client: Client) -> None:
    sent = client.get("/cluster?view=table")
    assert sent["Location"] == "/signin?next=/cluster%3Fview%3Dtable"
    page = client.get(sent["Location"])
    assert 'name="next" value="/cluster?view=table"' in page.text
    assert enter(client, next="/cluster?view=table")["Location"] == "/cluster?view=table"


def test_an_address_is_the_same_however_it_is_written(stage_now: Stage, client: Client) -> None:
    assert enter(client, email="Mira@Example.ORG").status_code == 302


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http:///evil"],
)
def test_no_link_leads_from_the_door_to_another_site(stage_now: Stage, client: Client, target: str) -> None:
    assert enter(client, next=target)["Location"] == "/"
    assert client.get("/signin", {"next": target})["Location"] == "/"


def test_whoever_is_in_is_not_asked_again(stage_now: Stage, signed_in: SignIn) -> None:
    assert signed_in(stage_now.people["mira"]).get("/signin")["Location"] == "/"


def test_a_wrong_password_and_an_unknown_account_and_a_closed_one_look_alike(
    stage_now: Stage, client: Client
) -> None:
    User.objects.filter(email="ravi@example.org").update(is_active=False)
    pages = [
        enter(client, email=email, password=password).text
        for email, password in (
            ("mira@example.org", "wrong"),
            ("nobody@example.org", "wrong"),
            ("ravi@example.org", PASSWORD),
        )
    ]
    alike = {re.sub(r'(value|nonce)="[^"]*"', "", page) for page in pages}
    assert len(alike) == 1
    assert "do not match. 4\u00a0tries left before a 5\u00a0min pause." in pages[0]


def test_after_five_wrong_tries_even_the_right_password_waits(stage_now: Stage, client: Client) -> None:
    for _ in range(MOST):
        assert enter(client, password="wrong").status_code == 200
    paused = enter(client)
    assert paused.status_code == 429
    assert "Too many wrong tries. Wait 5\u00a0min, then try again." in paused.text
    assert "_auth_user_id" not in client.session


def test_the_pause_is_for_one_account_and_one_address_and_ends(
    stage_now: Stage, client: Client, link: Redis
) -> None:
    for _ in range(MOST + 1):
        enter(client, password="wrong")
    assert enter(Client(REMOTE_ADDR="10.9.9.9")).status_code == 302
    assert enter(Client(), email="yuki@example.org").status_code == 302
    counters = link.keys("berth.tries.*")
    assert counters
    assert all(0 < link.ttl(counter) <= 300 for counter in counters)
    link.flushall()  # what time does
    assert enter(client).status_code == 302


def test_the_pause_is_the_same_for_an_account_that_is_not_there(stage_now: Stage, client: Client) -> None:
    statuses = [enter(client, email="nobody@example.org").status_code for _ in range(MOST + 1)]
    assert statuses == [200] * MOST + [429]


def test_many_accounts_from_one_address_are_paused_too(
    stage_now: Stage, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.accounts.tries.MOST_FROM_ADDRESS", 3)
    statuses = [enter(client, email=f"p{i}@example.org").status_code for i in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_one_account_from_many_addresses_is_paused_too(
    stage_now: Stage, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.accounts.tries.MOST_FOR_ACCOUNT", 3)
    statuses = [enter(Client(REMOTE_ADDR=f"10.9.9.{i}"), password="wrong").status_code for i in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_another_spelling_of_an_address_has_no_tries_of_its_own(stage_now: Stage, client: Client) -> None:
    """PostgreSQL takes a dotless i for an i."""
    spellings = ["mira@example.org", "MIRA@example.org", "m\u0131ra@example.org"]
    statuses = [enter(client, email=spelling, password="wrong").status_code for spelling in spellings * 2]
    assert statuses == [200] * MOST + [429]


def test_the_right_password_forgets_the_wrong_ones(stage_now: Stage, client: Client) -> None:
    for _ in range(2 * MOST):
        enter(Client(), password="wrong")
        assert enter(Client()).status_code == 302


def test_nobody_is_locked_out_because_redis_is_away(
    stage_now: Stage, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr("portal.accounts.tries.redis", lambda: away)
    assert enter(client).status_code == 302


def test_no_typed_password_or_address_is_kept_in_redis(stage_now: Stage, client: Client, link: Redis) -> None:
    enter(client, password="my secret mistake")
    kept = repr([(key, link.get(key)) for key in link.keys("berth.tries.*")])
    assert "mira" not in kept
    assert "secret" not in kept


@pytest.mark.parametrize("demo", [True, False])
def test_the_demo_lists_its_log_ins_and_nothing_else_does(
    stage_now: Stage, client: Client, settings: LazySettings, demo: bool
) -> None:
    settings.DEMO = demo
    assert ("berth-demo" in client.get("/signin").text) is demo


def test_signing_out_takes_a_post(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["mira"])
    assert client.get("/signout")["Location"] == "/account"
    assert client.get("/account").status_code == 200
    assert client.post("/signout")["Location"] == "/signin"
    assert client.get("/account").status_code == 302


def test_the_forms_of_these_pages_are_sealed_against_other_sites(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["noor"], enforce_csrf_checks=True)
    for address in ("/signin", "/signout", "/account/password", "/account/tokens", "/people/1/deactivate"):
        assert client.post(address).status_code == 403, address


# ---- One's own account


def test_the_account_shows_who_i_am_and_where_i_belong(stage_now: Stage, signed_in: SignIn) -> None:
    page = signed_in(stage_now.people["yuki"]).get("/account").text
    assert "Yuki Tanaka" in page
    assert "yuki@example.org" in page
    assert "lead · part of research" in page


def test_a_new_password_keeps_this_session_and_ends_the_others(stage_now: Stage, signed_in: SignIn) -> None:
    here, there = (signed_in(stage_now.people["mira"]) for _ in range(2))
    typed = {"old": PASSWORD, "new": "a new long phrase", "again": "a new long phrase"}
    assert here.post("/account/password", typed)["Location"] == "/account"
    assert "Your password is changed." in here.get("/account").text
    assert there.get("/account").status_code == 302
    assert enter(Client(), password="a new long phrase").status_code == 302


@pytest.mark.parametrize(
    ("old", "new", "again", "said"),
    [
        ("wrong", "a new long phrase", "a new long phrase", "That is not your present password."),
        (PASSWORD, "short", "short", "too short"),
        (PASSWORD, "a new long phrase", "another long phrase", "The two new passwords differ"),
        (PASSWORD, "mira@example.org", "mira@example.org", "too similar"),
        (PASSWORD, "", "", "This field is required."),
    ],
)
def test_a_password_that_is_refused_changes_nothing(
    stage_now: Stage, signed_in: SignIn, old: str, new: str, again: str, said: str
) -> None:
    page = signed_in(stage_now.people["mira"]).post(
        "/account/password", {"old": old, "new": new, "again": again}
    )
    assert (page.status_code, said in page.text) == (200, True)
    assert enter(Client()).status_code == 302


def made(client: Client, **changed: object) -> str:
    asked = {"name": "nightly", "scopes": ["read", "write"], "days": 30} | changed
    return client.post("/account/tokens", asked).text


def secret_in(page: str) -> str:
    found = re.search(r'id="secret">(berth_[^<]+)<', page)
    assert found, "no secret on the page"
    return found[1]


def test_a_token_shows_its_secret_once_and_opens_the_api(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["mira"])
    page = made(client)
    secret = secret_in(page)
    assert 'data-copy="secret"' in page
    assert Client().get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    later = client.get("/account").text
    token = Token.objects.get()
    assert secret not in later
    assert token.prefix in later
    assert secret not in repr(dict(client.session.items()))
    assert secret not in repr(list(Token.objects.values()))


def test_the_page_with_the_secret_is_no_redirect_and_is_never_cached(
    stage_now: Stage, signed_in: SignIn
) -> None:
    client = signed_in(stage_now.people["mira"])
    page = client.post("/account/tokens", {"name": "x", "scopes": ["read"], "days": 1})
    assert (page.status_code, page["Cache-Control"]) == (200, "no-store")
    assert client.get("/account/tokens")["Location"] == "/account"


def test_sending_the_form_twice_makes_one_token(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["mira"])
    made(client)
    assert "You have a live token named nightly" in made(client)
    assert Token.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"scopes": []}, "Choose at least one thing that the token may do."),
        ({"scopes": ["everything"]}, "Select a valid choice."),
        ({"days": 0}, "greater than or equal to 1"),
        ({"days": 367}, "less than or equal to 366"),
        ({"days": "soon"}, "Enter a whole number."),
        ({"name": "   "}, "This field is required."),
        ({"name": "x" * 61}, "at most 60 characters"),
    ],
)
def test_a_token_that_is_refused_says_why_at_its_field(
    stage_now: Stage, signed_in: SignIn, changed: dict[str, object], said: str
) -> None:
    assert said in made(signed_in(stage_now.people["mira"]), **changed)
    assert not Token.objects.exists()


def test_revoking_asks_first_and_then_the_token_opens_nothing(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["mira"])
    secret = secret_in(made(client))
    token = Token.objects.get()
    question = client.get(f"/account/tokens/{token.pk}/revoke")
    assert "Revoke token nightly?" in question.text
    assert Token.objects.get().revoked_at is None
    client.post(f"/account/tokens/{token.pk}/revoke")
    assert Client().get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert "Revoked" in client.get("/account").text


def test_nobody_revokes_another_persons_token_but_an_administrator(
    stage_now: Stage, signed_in: SignIn
) -> None:
    made(signed_in(stage_now.people["mira"]))
    address = f"/account/tokens/{Token.objects.get().pk}/revoke"
    assert signed_in(stage_now.people["yuki"]).post(address).status_code == 404
    assert signed_in(stage_now.people["noor"]).post(address).status_code == 302
    assert Token.objects.get().revoked_at is not None


def test_an_expired_token_says_so_and_cannot_be_revoked_again(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["mira"])
    made(client)
    long_ago = stage_now.now - timedelta(days=9)
    Token.objects.update(created_at=long_ago, expires_at=stage_now.now - timedelta(days=1))
    page = client.get("/account").text
    assert "Expired" in page
    assert "/revoke" not in page


def test_hostile_names_are_only_text(stage_now: Stage, signed_in: SignIn) -> None:
    stage_now.people["mira"].full_name = HOSTILE
    stage_now.people["mira"].save()
    page = made(signed_in(stage_now.people["mira"]), name=HOSTILE)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    everybody = signed_in(stage_now.people["noor"]).get("/people").text
    assert "<script>alert" not in everybody


# ---- Everybody


@pytest.mark.parametrize("who", ["mira", "yuki", "ines"])
def test_people_is_for_administrators(stage_now: Stage, signed_in: SignIn, who: str) -> None:
    client, mira = signed_in(stage_now.people[who]), stage_now.people["ravi"].pk
    assert client.get("/people").status_code == 403
    assert client.post(f"/people/{mira}/deactivate").status_code == 403
    assert User.objects.get(pk=mira).is_active


def test_people_lists_everybody_with_teams_and_roles(stage_now: Stage, signed_in: SignIn) -> None:
    Quota.objects.create(team=stage_now.teams["vision"], gpu_type="H100", nominal=48)
    page = signed_in(stage_now.people["noor"]).get("/people").text
    assert "7\u00a0people with an active account · 3\u00a0teams" in page
    for words in (
        "Yuki Tanaka",
        "yuki@example.org",
        "administrator",
        "finance",
        "H100: own 48, may not borrow",
    ):
        assert words in page
    assert page.index("research / </span>language") < page.index("research / </span>vision")


def test_deactivating_asks_first_signs_out_and_can_be_undone(stage_now: Stage, signed_in: SignIn) -> None:
    theirs, noor = signed_in(stage_now.people["ravi"]), signed_in(stage_now.people["noor"])
    ravi = stage_now.people["ravi"].pk
    assert "Deactivate Ravi Anand?" in noor.get(f"/people/{ravi}/deactivate").text
    assert theirs.get("/account").status_code == 200
    assert noor.post(f"/people/{ravi}/deactivate")["Location"] == "/people"
    assert theirs.get("/account").status_code == 302
    assert enter(Client(), email="ravi@example.org").status_code == 200
    assert f'id="person-{ravi}"' not in noor.get("/people").text
    assert f'id="person-{ravi}"' in noor.get("/people?show=deactivated").text
    noor.post(f"/people/{ravi}/activate")
    assert enter(Client(), email="ravi@example.org").status_code == 302


def test_an_administrator_cannot_lock_themselves_out(stage_now: Stage, signed_in: SignIn) -> None:
    noor = stage_now.people["noor"]
    client = signed_in(noor)
    assert f"/people/{noor.pk}/deactivate" not in client.get("/people").text
    assert client.post(f"/people/{noor.pk}/deactivate").status_code == 409
    assert User.objects.get(pk=noor.pk).is_active


@pytest.mark.parametrize("address", ["/people/999999/deactivate", "/people/1/promote"])
def test_what_is_not_there_cannot_be_changed(stage_now: Stage, signed_in: SignIn, address: str) -> None:
    assert signed_in(stage_now.people["noor"]).post(address).status_code == 404


def test_people_are_found_by_name_address_or_team_and_paged(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["noor"])
    assert "Omar Lind" in client.get("/people?q=LANGUAGE").text
    assert "Mira Okafor" not in client.get("/people?q=language").text
    assert "Nobody matches" in client.get("/people?q=zz%00z").text
    User.objects.bulk_create(User(email=f"p{i}@example.org", full_name=f"Person {i:03d}") for i in range(60))
    first = client.get("/people").text
    assert "1 to 50 of 67" in first
    assert 'href="?from=50"' in first
    assert "51 to 67 of 67" in client.get("/people?from=50").text
    assert client.get("/people?from=-1&show=nobody").status_code == 200


def test_the_people_page_asks_the_database_no_more_for_a_hundred_than_for_seven(
    stage_now: Stage, signed_in: SignIn, django_assert_num_queries: Callable[..., object]
) -> None:
    client = signed_in(stage_now.people["noor"])
    with django_assert_num_queries(11) as few:
        client.get("/people?show=all")
    for i in range(40):
        user = User.objects.create(email=f"p{i}@example.org", full_name=f"Person {i}")
        team = Team.objects.create(name=f"t{i}", parent=stage_now.teams["vision"])
        Membership.objects.create(user=user, team=team)
    with django_assert_num_queries(len(few)):
        client.get("/people?show=all")
