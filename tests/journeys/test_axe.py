"""Every page in both themes, wide and narrow: axe finds nothing, nothing scrolls sideways, nothing goes wrong."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone

from portal.accounts.models import User
from portal.cycle.figures import DEFAULTS
from portal.cycle.policy import set_policy
from tests.journeys.scenery import Scenery, served
from tests.portal.stage import Stage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

AXE = Path(__file__).parent.parent / "fixtures" / "vendor" / "axe-core" / "axe.min.js"
# Structure is the same in both themes; what can differ is colour.
RULES = {
    "light": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    },
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
EXAMPLES = 3  # of one thing on one page; a list of sixty lines does not say more
WIDTHS = (1440, 390)
NARROWEST = 320
REFUSED = "the server responded with a status of 40"  # Chromium's own line for a page that is meant to refuse

# Addresses that answer with something else than a page, or that only take a POST.
NO_PAGES = {
    *("alive", "sections", "signout", "password", "tokens", "job-stream", "job-log"),
    *("person-team", "team-parent", "team-quotas", "team-surplus", "team-members", "policy-restore"),
}


def addresses(seen: Scenery) -> dict[str, list[str]]:
    """Who looks at what; braces are filled from the scenery. Every named page is among them."""
    numbers = {
        "running": seen.running.pk, "waiting": seen.waiting.pk, "failed": seen.failed.pk,
        "finished": seen.finished.pk, "starting": seen.starting.pk, "token": seen.token.pk,
        "ravi": seen.stage.people["ravi"].pk, "leaving": seen.leaving.pk, "left": seen.left.pk,
    }  # fmt: skip
    return {who: [address.format(**numbers) for address in each] for who, each in PAGES.items()}


PAGES = {
    "": ["/signin", "/signin?next=/cluster"],
    "mira": [
        "/", "/?whose=team", "/account", "/account/tokens/{token}/revoke",
        "/jobs", "/jobs?phase=failed", "/jobs?q=nothing-like-it", "/jobs/new", "/jobs/new?clone={failed}",
        "/jobs/{running}", "/jobs/{waiting}", "/jobs/{failed}", "/jobs/{finished}", "/jobs/{starting}",
        "/jobs/{leaving}", "/jobs/{left}", "/jobs/{running}/cancel", "/queue", "/cluster", "/cluster/n004", "/people", "/nowhere",
    ],
    "noor": [
        "/", "/cluster", "/cluster?colour=state", "/cluster?view=table", "/cluster?view=table&show=look",
        "/cluster/n001", "/cluster/n001?readings=table&measure=power", "/cluster/n002", "/cluster/n003",
        "/cluster/n005", "/cluster/n009", "/cluster/n001/drain", "/cluster/n003/resume", "/cluster/n001/lost", "/cluster/n001/out", "/cluster/n009/approve",
        "/cluster/n002/approve", "/people", "/people?q=zzz", "/people/{ravi}/deactivate", "/jobs", "/queue",
        "/people/new", "/people/{ravi}", "/people/{ravi}/password", "/teams/new", "/teams/research", "/teams/vision",
        "/policy", "/policy?history=all", "/policy/change", "/policy/0", "/policy/1",
    ],
    "omar": ["/account/first-password"],
    "ines": ["/", "/jobs", "/queue", "/policy"],
}  # fmt: skip


@pytest.fixture
def portal(transactional_db: None, portal_environment: dict[str, str]) -> Iterator[tuple[str, Scenery]]:
    """A web server with something on every page."""
    scenery = Scenery(Stage(timezone.now()).furnish())
    User.objects.filter(email="omar@example.org").update(must_change_password=True)
    set_policy(
        figures={**DEFAULTS, "grace_s": 300.0}, seen=0, why="Slow disks need longer",
        by=scenery.stage.people["noor"], now=timezone.now(),
    )  # fmt: skip
    with served(portal_environment) as address:
        yield address, scenery


@contextmanager
def visitor(browser: "Browser", portal: str, user: User | None) -> Iterator["BrowserContext"]:
    """A browser in which this person is signed in already; what goes wrong in it is told at the end."""
    with browser.new_context() as context:
        if user is not None:
            client = Client()
            client.force_login(user)
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": portal}])
        yield context


def errors_of(context: "BrowserContext") -> list[str]:
    """Filled as errors happen on any page of this context."""
    found: list[str] = []
    context.on("console", lambda said: said.type == "error" and found.append(f"console: {said.text}"))
    context.on("weberror", lambda broke: found.append(f"page error: {broke.error}"))
    return found


def violations(page: "Page", theme: str) -> list[str]:
    """What axe finds, with some examples of each thing."""
    run = "rules => axe.run({runOnly: rules, resultTypes: ['violations']})"
    found: dict[str, Any] = page.evaluate(run, RULES[theme])
    return [
        f"{one['id']}: {one['help']} ({len(one['nodes'])} times): {node['html'][:160]}"
        for one in found["violations"]
        for node in one["nodes"][:EXAMPLES]
    ]


def sideways(page: "Page") -> str:
    """The widest thing that makes the page scroll sideways, or nothing."""
    return str(
        page.evaluate(
            """() => {
                const room = document.documentElement.clientWidth;
                if (document.documentElement.scrollWidth <= room) return '';
                const wide = [...document.body.querySelectorAll('*')].filter(
                    (one) => one.getBoundingClientRect().right > room + 1 && !one.closest('.table-wrap, .unseen'));
                return (wide.pop() || document.body).outerHTML.slice(0, 160);
            }"""
        )
    )


@pytest.mark.whole
@pytest.mark.limit(240)
@pytest.mark.parametrize("who", PAGES, ids=lambda who: who or "nobody")
def test_every_page_is_fit_for_everybody(browser: "Browser", portal: tuple[str, Scenery], who: str) -> None:
    address, scenery = portal
    wrong: list[str] = []
    with visitor(browser, address, scenery.stage.people.get(who)) as context:
        errors, page = errors_of(context), context.new_page()
        for path in addresses(scenery)[who]:
            answer = page.goto(address + path)
            assert answer is not None
            assert answer.status < 500, path
            wrong += [f"{path} {one}" for one in unfit(page)]
        wrong += [one for one in errors if REFUSED not in one]
    assert not wrong, f"{len(wrong)} things:\n" + "\n".join(dict.fromkeys(wrong))


def unfit(page: "Page") -> list[str]:
    """What is wrong with a page: on a desk and on a phone, in light and in dark, and on a very narrow phone."""
    page.evaluate(AXE.read_text())
    found = []
    for width, theme in itertools.product(WIDTHS, RULES):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found += [f"({width} px, {theme}): {one}" for one in violations(page, theme)]
        if wide := sideways(page):
            found.append(f"({width} px): scrolls sideways: {wide}")
    page.set_viewport_size({"width": NARROWEST, "height": 900})
    if wide := sideways(page):
        found.append(f"({NARROWEST} px): scrolls sideways: {wide}")
    return found


@pytest.mark.whole
@pytest.mark.limit(120)
def test_pages_that_answer_a_form_are_fit_too(browser: "Browser", portal: tuple[str, Scenery]) -> None:
    address, scenery = portal
    with visitor(browser, address, None) as context:
        page = context.new_page()
        page.goto(f"{address}/signin")
        page.get_by_label("E-mail").fill("mira@example.org")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("do not match").wait_for()
        assert not unfit(page)
    with visitor(browser, address, scenery.stage.people["mira"]) as context:
        errors, page = errors_of(context), context.new_page()
        page.goto(f"{address}/account")
        page.get_by_label("Name", exact=True).fill("nightly")
        page.get_by_role("button", name="Make token").click()
        page.get_by_text("it is not shown again").wait_for()
        assert not unfit(page)
        page.get_by_label("Present password").fill("wrong")
        for label in ("New password", "New password again"):
            page.get_by_label(label, exact=True).fill("a new long phrase")
        page.get_by_role("button", name="Change password").click()
        page.get_by_text("That is not your present password.").wait_for()
        assert not unfit(page)
        page.get_by_role("link", name="Revoke nightly").click()  # opens the question on the page itself
        assert page.get_by_role("dialog").get_by_role("heading").inner_text() == "Revoke token nightly?"
        assert not unfit(page)
        page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
        page.get_by_text("Token nightly is revoked.").wait_for()
        assert not errors


@pytest.mark.whole
@pytest.mark.limit(120)
def test_answers_about_people_and_teams_are_fit_too(browser: "Browser", portal: tuple[str, Scenery]) -> None:
    address, scenery = portal
    with visitor(browser, address, scenery.stage.people["noor"]) as context:
        errors, page = errors_of(context), context.new_page()
        page.goto(f"{address}/people/new")
        page.get_by_label("E-mail").fill("mira@example.org")
        page.get_by_label("Full name").fill("Lena Brandt")
        page.get_by_role("button", name="Make person").click()
        page.get_by_role("alert").get_by_text("Somebody has this e-mail already").wait_for()
        assert not unfit(page)
        page.get_by_label("E-mail").fill("lena@example.org")
        page.get_by_role("button", name="Make person").click()
        page.get_by_text("it is not shown again").wait_for()
        assert not unfit(page)
        page.goto(f"{address}/teams/vision")
        page.get_by_role("group", name="H100").get_by_label("Own").fill("9999999")
        page.get_by_role("form", name="Quota").evaluate("form => form.noValidate = true")
        page.get_by_role("button", name="Save quota").click()
        page.locator(".error").wait_for()
        assert not unfit(page)
        page.get_by_label("E-mail of the person").fill("lena@example.org")
        page.get_by_role("button", name="Add to team").click()
        page.get_by_text("Lena Brandt is member of vision.").wait_for()
        assert not unfit(page)
        assert not errors


def test_the_look_finds_what_is_wrong(page: "Page") -> None:
    page.set_content("<html><p style='color:#999'>pale</p><div style='width:1500px'>wide</div></html>")
    found = "\n".join(unfit(page))
    for what in ("color-contrast", "html-has-lang", "landmark-one-main", "scrolls sideways: <div"):
        assert what in found


def test_every_page_is_on_the_list() -> None:
    visited = {
        get_resolver().resolve(_plain(path)).url_name
        for each in PAGES.values()
        for path in each
        if "nowhere" not in path
    }
    named = {
        pattern.name
        for room in get_resolver().url_patterns
        for pattern in getattr(room, "url_patterns", [])
        if isinstance(pattern, URLPattern) and not str(getattr(room, "pattern", "")).startswith("api/")
    }
    assert named - NO_PAGES - visited == set(), "these pages are not looked at"


def _plain(path: str) -> str:
    """The path alone, with numbers where the scenery puts them."""
    return re.sub(r"\{\w+\}", "1", path).partition("?")[0]
