"""What a person does on the pages, in a real browser: sign in, submit, read a job."""

import re
from typing import TYPE_CHECKING

from portal.demo import PASSWORD, PEOPLE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SOON_MS = 30_000


def sign_in(page: "Page", address: str, role: str = "engineer") -> None:
    page.goto(f"{address}/signin")
    page.get_by_label("E-mail").fill(PEOPLE[role][0])
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")


def submit(page: "Page", address: str, name: str, command: str, **fields: str) -> int:
    """Fill the form and send it; what follows is the page of the job, whose number this gives."""
    fill(page, address, name, command, **fields)
    send(page)
    return arrived(page)


def arrived(page: "Page") -> int:
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    return int(page.url.rpartition("/")[2])


def fill(page: "Page", address: str, name: str, command: str, **fields: str) -> None:
    if page.url != f"{address}/jobs/new":
        page.goto(f"{address}/jobs/new")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Command").fill(command)
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ")).fill(value)


def send(page: "Page") -> None:
    page.locator("aside").get_by_role("button", name="Submit job").click()


def badge(page: "Page", word: str) -> "Locator":
    return page.locator("h1 .badge", has_text=word)


def line(page: "Page", text: str) -> "Locator":
    return page.locator(".log li", has_text=text).first


def mark(page: "Page") -> None:
    """A page that is loaded again loses this mark."""
    page.evaluate("window.loadedOnce = true")


def is_marked(page: "Page") -> bool:
    return bool(page.evaluate("window.loadedOnce === true"))
