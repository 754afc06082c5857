"""Without JavaScript: signing in, submitting, reading and cancelling work all the same."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.faults.whole import eventually
from tests.journeys.visitor import arrived, badge, fill, line, send, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.whole, pytest.mark.limit(120)]


def test_reading_submitting_and_cancelling_need_no_scripts(browser: "Browser", address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page, address)
        page.goto(f"{address}/jobs/new")
        page.get_by_role("button", name="Update figures").click()
        page.get_by_text("Free GPUs").wait_for()
        fill(page, address, "plain", "echo it speaks; sleep 600", GPUs_per_node="2", Time_limit="90")
        send(page)
        page.get_by_text("Say what 90 counts: 90 min or 90 h.").first.wait_for()
        page.get_by_label("Time limit").fill("90 min")
        send(page)
        arrived(page)
        eventually(lambda: page.reload() and line(page, "it speaks").count())
        page.get_by_role("link", name="Cancel job").click()
        page.get_by_role("button", name="Cancel job").click()
        page.get_by_text("is cancelled; what it printed and cost is kept").wait_for()
        eventually(lambda: page.reload() and badge(page, "Cancelled").count())
        page.goto(f"{address}/jobs?phase=cancelled")
        page.get_by_role("link", name=re.compile(r"\d+ plain")).wait_for()
