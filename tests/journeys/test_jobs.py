"""Jobs in a real browser on a whole portal: from the form to the bill, over the loss of a node, without scripts."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from portal.demo import PASSWORD, PEOPLE
from tests.faults.person import Person
from tests.faults.whole import Whole, eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.serial, pytest.mark.limit(150)]
SOON_MS = 30_000
# Prints when it printed, so that the page can tell how late a line came.
PRINTS = 'for i in $(seq 1 {}); do echo "step $i at $(date +%s.%N)"; sleep 0.5; done'


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    up = Whole(agents=3)
    try:
        yield up.start()
    finally:
        left = up.leave()
    assert not left, "this outlived its `up`:\n" + "\n".join(left)


@pytest.fixture
def address(whole: Whole) -> str:
    return f"http://127.0.0.1:{whole.port}"


def sign_in(page: "Page", address: str, role: str = "engineer") -> None:
    page.goto(f"{address}/signin")
    page.get_by_label("E-mail").fill(PEOPLE[role][0])
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")


def submit(page: "Page", address: str, name: str, command: str, **fields: str) -> None:
    """Fill the form and send it; what follows is the page of the job."""
    fill(page, address, name, command, **fields)
    send(page)
    page.wait_for_url(re.compile(r"/jobs/\d+$"))


def fill(page: "Page", address: str, name: str, command: str, **fields: str) -> None:
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


def test_a_gang_from_the_form_to_its_bill(page: "Page", address: str) -> None:
    sign_in(page, address)
    page.get_by_role("link", name="Submit job").first.click()
    submit(page, address, "gang", PRINTS.format(16), Nodes="2", GPUs_per_node="8", Time_limit="10 min")
    page.evaluate("window.loadedOnce = true")
    badge(page, "Running").wait_for(timeout=SOON_MS)
    line(page, "step 1 ").wait_for(timeout=SOON_MS)
    seen = page.evaluate(
        """() => new Promise((done) => {
          const late = [];
          new MutationObserver((changes) => {
            for (const { addedNodes } of changes) for (const node of addedNodes) {
              const told = /at (\\d+\\.\\d+)/.exec(node.textContent);
              if (told) late.push(Date.now() / 1000 - Number(told[1]));
            }
            if (late.length >= 40) done(late);
          }).observe(document.querySelector('.log'), { childList: true });
        })"""
    )
    assert max(seen) < 4, "a line took too long from the rank to the page"
    assert sorted(seen)[len(seen) // 2] < 2
    assert page.locator("#rank-rows tr").count() == 16
    badge(page, "Finished").wait_for(timeout=SOON_MS)
    page.get_by_text("The log is whole.").wait_for(timeout=SOON_MS)
    assert page.locator(".stepper [aria-current]").inner_text().startswith("Finished")
    assert re.search(r"Total, 0\.\d+\sGPU-h\s*€0\.\d\d", page.locator("#cost").inner_text())
    assert page.evaluate("window.loadedOnce") is True, (
        "the page kept itself current without being loaded again"
    )
    assert line(page, "step 16 ").count() == 1


def test_a_job_whose_agent_dies_starts_again_elsewhere_before_ones_eyes(
    page: "Page", whole: Whole, address: str
) -> None:
    whole.patience(6)
    sign_in(page, address)
    submit(page, address, "survivor", "echo epoch $BERTH_EPOCH; " + PRINTS.format(600), GPUs_per_node="8")
    line(page, "epoch 1").wait_for(timeout=SOON_MS)
    node = page.locator("#rank-0 td a").inner_text()
    with whole.standing_still(node):
        line(page, "epoch 2").wait_for(timeout=60_000)
        badge(page, "Running").wait_for(timeout=SOON_MS)
        assert page.locator("#rank-0 td a").inner_text() != node
        assert "a node was lost" in page.locator("#runs").inner_text()
    # The old run's log is one link away, and no line of it is in the new one.
    assert line(page, "epoch 1").count() == 0
    page.locator("#runs").get_by_role("link", name="Run 1").click()
    line(page, "epoch 1").wait_for()
    page.get_by_role("link", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    badge(page, "Cancelled").wait_for(timeout=SOON_MS)
    whole.patience(60)


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
        page.wait_for_url(re.compile(r"/jobs/\d+$"))
        eventually(lambda: page.reload() and line(page, "it speaks").count())
        page.get_by_role("link", name="Cancel job").click()
        page.get_by_role("button", name="Cancel job").click()
        page.get_by_text("is cancelled; what it printed and cost is kept").wait_for()
        eventually(lambda: page.reload() and badge(page, "Cancelled").count())
        page.goto(f"{address}/jobs?phase=cancelled")
        page.get_by_role("link", name=re.compile(r"\d+ plain")).wait_for()


def test_new_jobs_wait_behind_a_button_and_nothing_jumps(page: "Page", whole: Whole, address: str) -> None:
    person = Person(whole)
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
