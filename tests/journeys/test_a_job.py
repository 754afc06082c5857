"""A gang in a real browser: from the form over its log, which grows before one's eyes, to its bill."""

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from portal import words
from tests.faults.person import Job, Person
from tests.faults.whole import Whole, eventually
from tests.journeys.visitor import SOON_MS, arrived, badge, fill, is_marked, line, mark, send, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.whole, pytest.mark.limit(150)]
# Prints when it printed, so that the page can tell how late a line came.
PRINTS = 'for i in $(seq 1 16); do echo "step $i at $(date +%s.%N)"; sleep 0.5; done'
AGES = """() => new Promise((done) => {
  const ages = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) {
      const told = /at (\\d+\\.\\d+)/.exec(node.textContent);
      if (told) ages.push(Date.now() / 1000 - Number(told[1]));
    }
    if (ages.length >= 40) done(ages);
  }).observe(document.querySelector('.log'), { childList: true });
})"""
MS_PER_HOUR = 3_600_000


def test_a_gang_from_the_form_to_its_bill(page: "Page", whole: Whole, person: Person, address: str) -> None:
    sign_in(page, address)
    page.get_by_role("link", name="Submit job").first.click()
    fill(page, address, "gang", PRINTS, Nodes="2", GPUs_per_node="8", Time_limit="10 min")
    send(page)
    job = Job(person, arrived(page))
    mark(page)

    badge(page, "Running").wait_for(timeout=SOON_MS)
    line(page, "step 1 ").wait_for(timeout=SOON_MS)
    ages = sorted(page.evaluate(AGES))
    assert ages[len(ages) // 2] < 2, f"lines took {ages} s from the rank to the page"
    assert page.locator("#rank-rows tr").count() == 16
    assert {rank["state"] for rank in job.seen()["runs"][0]["ranks"]} == {"running"}

    badge(page, "Finished").wait_for(timeout=SOON_MS)
    page.get_by_text("The log is whole.").wait_for(timeout=SOON_MS)
    line(page, "step 16 ").wait_for()
    assert page.locator(".stepper [aria-current]").inner_text().startswith("Finished")
    paid(page, whole, job)
    assert is_marked(page), "the page kept itself current without being loaded again"


def paid(page: "Page", whole: Whole, job: Job) -> None:
    """The page, the API and the holds themselves agree on what it cost, to the last micro-unit."""
    cost = job.seen()["cost"]
    (rate,) = whole.rows("SELECT micros_per_hour FROM showback_rate WHERE gpu_type = 'H100'")
    assert cost["micros"] == _half_up(Fraction(cost["gpu_ms"] * rate["micros_per_hour"], MS_PER_HOUR))
    held = whole.rows(
        "SELECT sum(floor(extract(epoch FROM released_at) * 1000) - floor(extract(epoch FROM held_from) * 1000))"
        "::bigint AS ms, count(*) AS gpus FROM jobs_hold h JOIN jobs_run r ON r.id = h.run_id WHERE r.job_id = %s",
        job.number,
    )
    assert held == [{"ms": cost["gpu_ms"], "gpus": 16}]
    total = f"Total, {words.gpu_hours_exact(cost['gpu_ms'])}\n{words.money(cost['micros'])}"
    eventually(lambda: total in page.locator("#cost").inner_text())
    assert cost["micros"] > 0


def _half_up(amount: Fraction) -> int:
    return int(amount + Fraction(1, 2))
