"""The list of jobs in a real browser, while jobs come and change."""

from typing import TYPE_CHECKING

import pytest

from tests.faults.person import Person
from tests.journeys.visitor import SOON_MS, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.whole, pytest.mark.limit(120)]


def test_new_jobs_wait_behind_a_button_and_nothing_jumps(page: "Page", person: Person, address: str) -> None:
    first = person.submit("sleep 600", name="already there").number
    sign_in(page, address)
    page.goto(f"{address}/jobs?q=there")
    top = page.locator("#rows tr").first.bounding_box()
    second = person.submit("sleep 600", name="just got there").number
    button = page.get_by_role("button", name="1 new job")
    button.wait_for(timeout=SOON_MS)
    rows = page.locator("#rows tr")
    assert [rows.first.get_attribute("id"), rows.count()] == [f"job-{first}", 1]
    assert rows.first.bounding_box() == top
    button.click()
    page.locator(f"#job-{second}").wait_for()
    assert rows.first.get_attribute("id") == f"job-{second}"
    for number in (first, second):
        person.call("POST", f"/jobs/{number}/cancel")
    page.locator(f"#job-{first} .badge", has_text="Cancelled").wait_for(timeout=SOON_MS)
