"""Every page in both themes, wide and narrow: axe finds nothing, nothing scrolls sideways, nothing goes wrong."""

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
NARROWEST = 320
REFUSED = "the server responded with a status of 40"  # Chromium's own line for a page that is meant to refuse

# Addresses that answer with something else than a page, or that only take a POST.
NO_PAGES = {"alive", "signout", "password", "tokens", "job-stream", "job-log"}


def addresses(seen: Scenery) -> dict[str, list[str]]:
    """Who looks at what; braces are filled from the scenery. Every named page is among them."""
    numbers = {
        "running": seen.running.pk, "waiting": seen.waiting.pk, "failed": seen.failed.pk,
        "finished": seen.finished.pk, "starting": seen.starting.pk, "token": seen.token.pk,
        "ravi": seen.stage.people["ravi"].pk,
    }  # fmt: skip
    return {who: [address.format(**numbers) for address in each] for who, each in PAGES.items()}


PAGES = {
    "": ["/signin", "/signin?next=/cluster"],
    "mira": [
        "/", "/?whose=team", "/account", "/account/tokens/{token}/revoke",
        "/jobs", "/jobs?phase=failed", "/jobs?q=nothing-like-it", "/jobs/new", "/jobs/new?clone={failed}",
        "/jobs/{running}", "/jobs/{waiting}", "/jobs/{failed}", "/jobs/{finished}", "/jobs/{starting}",
        "/jobs/{running}/cancel", "/queue", "/cluster", "/cluster/n004", "/people", "/nowhere",
    ],
    "noor": [
        "/", "/cluster", "/cluster?colour=state", "/cluster?view=table", "/cluster?view=table&show=look",
        "/cluster/n001", "/cluster/n001?readings=table&measure=power", "/cluster/n002", "/cluster/n003",
        "/cluster/n005", "/cluster/n009", "/cluster/n001/drain", "/cluster/n003/resume", "/cluster/n009/approve",
        "/cluster/n002/approve", "/people", "/people?q=zzz", "/people/{ravi}/deactivate", "/jobs", "/queue",
    ],
    "ines": ["/", "/jobs", "/queue"],
}  # fmt: skip


@pytest.fixture
def portal(transactional_db: None, portal_environment: dict[str, str]) -> Iterator[tuple[str, Scenery]]:
    """A web server with something on every page."""
    scenery = Scenery(Stage(timezone.now()).furnish())
    with served(portal_environment) as address:
        yield address, scenery


@contextmanager
def visitor(browser: "Browser", portal: str, user: User | None, **looks: Any) -> Iterator["BrowserContext"]:
    """A browser in which this person is signed in already; what goes wrong in it is told at the end."""
    with browser.new_context(reduced_motion="reduce", **looks) as context:
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
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("rules => axe.run({runOnly: rules})", RULES[theme])
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


@pytest.mark.serial
@pytest.mark.limit(180)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_page_is_accessible(
    browser: "Browser", portal: tuple[str, Scenery], theme: str, width: int
) -> None:
    address, scenery = portal
    size = {"width": width, "height": 900}
    wrong: list[str] = []
    for who, paths in addresses(scenery).items():
        user = scenery.stage.people.get(who)
        with visitor(browser, address, user, viewport=size, color_scheme=theme) as context:
            errors, page = errors_of(context), context.new_page()
            for path in paths:
                answer = page.goto(address + path)
                assert answer is not None
                assert answer.status < 500, path
                wrong += [f"{who or 'nobody'} {path}: {one}" for one in unfit(page, theme, size)]
            wrong += [f"{who or 'nobody'}: {one}" for one in errors if REFUSED not in one]
    assert not wrong, f"{len(wrong)} things:\n" + "\n".join(dict.fromkeys(wrong))


def unfit(page: "Page", theme: str, size: dict[str, int]) -> list[str]:
    """What axe finds, and what scrolls sideways; a phone may also be a very narrow one."""
    found = violations(page, theme)
    if size["width"] < 640:
        page.set_viewport_size(size | {"width": NARROWEST})
    if wide := sideways(page):
        found.append(f"scrolls sideways: {wide}")
    page.set_viewport_size(size)
    return found


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
    for name in ("running", "waiting", "failed", "finished", "starting", "token", "ravi"):
        path = path.replace(f"{{{name}}}", "1")
    return path.partition("?")[0]
