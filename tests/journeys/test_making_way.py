"""Work that makes way, in a real browser: an administrator sets the rules, and both sides watch them being kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.faults.person import Job, Person
from tests.faults.whole import Whole, eventually
from tests.journeys.visitor import SOON_MS, badge, fill, is_marked, line, mark, send, sign_in, submit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.whole, pytest.mark.limit(180)]
# Saves when it is asked to, takes its time for that, and says so.
SAVES = (
    'trap "echo saving; sleep 3; echo saved; exit 0" TERM; echo begun; while :; do sleep 1 & wait $!; done'
)


@pytest.fixture
def administrator(browser: "Browser", address: str) -> Iterator["Page"]:
    """Another visitor; a form that comes back with errors is an error in the console too, so nobody listens."""
    visitor = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="UTC")
    visitor.set_default_timeout(SOON_MS)
    page = visitor.new_page()
    sign_in(page, address, "administrator")
    yield page
    page.goto(f"{address}/policy/0")
    if page.get_by_role("button", name="Restore the defaults").count():
        page.get_by_label("Why").fill("the journey is over")
        page.get_by_role("button", name="Restore the defaults").click()
        page.get_by_text("The policy is saved and in force.").wait_for()
    visitor.close()


def change(page: "Page", address: str, why: str, **figures: str) -> None:
    page.goto(f"{address}/policy/change")
    for name, value in figures.items():
        page.locator(f'[name="{name.replace("__", ".")}"]').fill(value)
    page.get_by_label("Why").fill(why)
    page.get_by_role("button", name="Save policy").click()


def test_an_opportunistic_gang_makes_way_before_the_eyes_of_both(
    page: "Page", administrator: "Page", whole: Whole, address: str
) -> None:
    change(administrator, address, "short for a journey", min_runtime_s__opportunistic="1", grace_s="30 s")
    assert (
        "Minimum runtime, opportunistic: Say what 1 counts" in administrator.locator(".notice").inner_text()
    )
    change(administrator, address, "short for a journey", min_runtime_s__opportunistic="1 s", grace_s="30 s")
    administrator.get_by_text("The policy is saved and in force.").wait_for()
    assert "by Noor Haddad: short for a journey" in administrator.locator("#version-1").inner_text()

    fill(administrator, address, "sweep", SAVES, Nodes="8", GPUs_per_node="8")
    administrator.get_by_role("radio", name="Opportunistic").check()
    send(administrator)
    line(administrator, "begun").wait_for(timeout=SOON_MS)
    badge(administrator, "Running").wait_for(timeout=SOON_MS)
    mark(administrator)

    sign_in(page, address)
    fill(page, address, "urgent", "echo here; sleep 600", Nodes="1", GPUs_per_node="8", Time_limit="10 min")
    page.get_by_role("radio", name="Production").check()
    send(page)
    page.get_by_text("1 opportunistic job is saving a checkpoint to make room").wait_for(timeout=SOON_MS)
    mark(page)

    administrator.get_by_role("heading", name="Run 1 is making way").wait_for(timeout=SOON_MS)
    line(administrator, "saved").wait_for(timeout=SOON_MS)
    administrator.get_by_role("heading", name="Run 1 made way").wait_for(timeout=SOON_MS)
    badge(page, "Running").wait_for(timeout=SOON_MS)
    badge(administrator, "Waiting").wait_for(timeout=SOON_MS)
    receipt = administrator.locator("#receipt").inner_text()
    assert "urgent, production, team vision" in receipt
    why = administrator.locator("#why .explain-say").inner_text()
    assert why.endswith(f"when job {page.url.rpartition('/')[2]} ends."), why
    assert is_marked(page)
    assert is_marked(administrator)
    leave(whole, page, administrator)


def leave(whole: Whole, *pages: "Page") -> None:
    """Cancel what is still there, so that the next journey finds an empty cluster."""
    for page in pages:
        page.get_by_role("link", name="Cancel job").click()
        page.locator("dialog[open]").get_by_role("button", name="Cancel job").click()
        badge(page, "Cancelled").wait_for(timeout=SOON_MS)
    eventually(lambda: not whole.rows("SELECT 1 FROM jobs_hold WHERE released_at IS NULL"))


def test_who_saves_the_policy_second_sees_both_changes_before_saving_again(
    administrator: "Page", address: str
) -> None:
    slow, quick = administrator, administrator.context.new_page()
    slow.goto(f"{address}/policy/change")
    change(quick, address, "more plans", reservation_depth="12")
    quick.get_by_text("The policy is saved and in force.").wait_for()
    slow.locator('[name="grace_s"]').fill("3 min")
    slow.get_by_label("Why").fill("longer grace")
    slow.get_by_role("button", name="Save policy").click()
    assert "more plans" in slow.get_by_role("alert").inner_text()
    assert slow.locator('[name="reservation_depth"]').input_value() == "12"
    assert slow.locator('[name="grace_s"]').input_value() == "3 min"
    slow.get_by_role("button", name="Save policy").click()
    slow.get_by_text("The policy is saved and in force.").wait_for()
    quick.goto(f"{address}/policy")
    for figure, value in {"reservation_depth": "12", "grace_s": "3 min"}.items():
        assert value in quick.locator(f"#figure-{figure} td").inner_text().replace("\u00a0", " ")


def test_a_gang_that_waits_has_its_place_and_time_on_its_page(
    page: "Page", whole: Whole, person: Person, address: str
) -> None:
    """Three nodes belong to others, and on three there is too little left: of five that it may use two are whole."""
    lead = Person(whole, "administrator")
    jobs = [lead.submit("sleep 600", name="theirs", team="language", nodes=3, gpus_per_node=8, limit_s=600)]
    jobs += [
        person.submit("sleep 600", name=f"part-{n}", nodes=1, gpus_per_node=5, limit_s=600) for n in range(3)
    ]
    for job in jobs:
        job.reaches("running")
    sign_in(page, address)
    gang = submit(page, address, "gang", "sleep 1", Nodes="3", GPUs_per_node="8", Time_limit="5 min")
    facts = page.locator("#why .explain-facts")
    facts.get_by_text("Place").wait_for(timeout=SOON_MS)
    planned = Job(person, gang).seen()["why"]["planned"]
    assert f"Place\n{planned['place']}" in facts.inner_text()
    said = page.locator("#why .explain-say").inner_text()
    assert "only 2 nodes have 8 of them and your job asks for 3 such nodes" in said
    for job in jobs:
        (lead if job is jobs[0] else person).call("POST", f"/jobs/{job.number}/cancel")
    badge(page, "Finished").wait_for(timeout=SOON_MS)
