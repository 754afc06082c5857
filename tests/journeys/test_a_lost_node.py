"""A node hangs and its ranks die: the job starts again elsewhere before one's eyes, and the node comes back clean."""

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from scheduler.agent import proc, rundir
from tests.faults.person import TICKS, Person, Training
from tests.faults.whole import Whole, eventually
from tests.journeys.visitor import SOON_MS, badge, is_marked, line, mark, sign_in, submit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = [pytest.mark.whole, pytest.mark.limit(150)]
PATIENCE_S = 10  # as short as a machine under load allows


@pytest.fixture
def impatient(whole: Whole) -> Iterator[Whole]:
    whole.patience(PATIENCE_S)
    yield whole
    whole.patience(60)


def ranks_on(whole: Whole, node: str) -> list[rundir.Seen]:
    """What each run there wrote of itself."""
    runs = (whole.state / "agents" / node / "runs").iterdir()
    return [seen for run in runs if (seen := rundir.seen_of(run))]


def kill_ranks(whole: Whole, node: str) -> None:
    """As the death of a machine does it: nobody is left to say so."""
    for seen in ranks_on(whole, node):
        os.kill(seen["pid"], signal.SIGKILL)
        eventually(
            lambda ranks=seen["ranks"]: not any(proc.is_alive(one["pid"], one["ticks"]) for one in ranks)
        )


def test_a_job_whose_node_dies_starts_again_elsewhere_and_the_node_comes_back(
    context: "BrowserContext", impatient: Whole, person: Person, address: str
) -> None:
    page = context.new_page()
    sign_in(page, address)
    command = "echo epoch $BERTH_EPOCH; " + TICKS.format(sign=impatient.place / "signs" / "survivor")
    number = submit(page, address, "survivor", command, Nodes="2", GPUs_per_node="8")
    job = Training(person, number, "survivor")
    line(page, "epoch 1").wait_for(timeout=SOON_MS)
    mark(page)
    dead, _ = job.seen()["runs"][0]["nodes"]
    there = watch(context, address, dead)

    with impatient.standing_still(dead):
        kill_ranks(impatient, dead)
        line(page, "epoch 2").wait_for(timeout=60_000)
        badge(page, "Running").wait_for(timeout=SOON_MS)
        badge(there, "Lost").wait_for(timeout=SOON_MS)
        first, second = job.seen()["runs"]
        assert (first["cause"], second["phase"]) == ("node_lost", "running")
        assert dead not in second["nodes"]
        assert line(page, "epoch 1").count() == 0, "a line of the first run stands in the log of the second"
        assert "a node was lost" in page.locator("#runs").inner_text()
    assert is_marked(page), "the page kept itself current without being loaded again"

    comes_back(impatient, there, dead)
    job.let_go()
    badge(page, "Finished").wait_for(timeout=SOON_MS)
    assert [rank["exit"] for rank in job.seen()["runs"][1]["ranks"]] == [0] * 16
    assert [node for node in impatient.lost() if node.split()[0] != dead] == []


def watch(context: "BrowserContext", address: str, node: str) -> "Page":
    page = context.new_page()
    page.goto(f"{address}/cluster/{node}")
    badge(page, "In service").wait_for()
    mark(page)
    return page


def comes_back(whole: Whole, page: "Page", node: str) -> None:
    """It learns that nothing is asked of it, keeps nothing, and is ready for new work."""
    badge(page, "In service").wait_for(timeout=SOON_MS)
    assert is_marked(page)
    eventually(lambda: not ranks_on(whole, node))
    told = whole.rows("SELECT sentence FROM journal_entry WHERE kind = 'node' AND verb = 'returned'")
    assert [row["sentence"] for row in told] == [f"{node} is back"]
    assert whole.node(node)["lost_at"] is None


def test_a_node_that_only_hung_ends_what_it_still_runs_when_it_wakes(
    impatient: Whole, person: Person
) -> None:
    """Its ranks went on all the time: for a while two runs of the job existed, and only the second counts."""
    job = person.train("doubled", gpus_per_node=8)
    (node,) = job.seen()["runs"][0]["nodes"]
    (left,) = ranks_on(impatient, node)
    with impatient.standing_still(node):
        eventually(lambda: len(job.seen()["runs"]) == 2 and job.phase == "running", 60)
        assert proc.is_alive(left["pid"], left["ticks"])
    eventually(lambda: not proc.is_alive(left["pid"], left["ticks"]))
    eventually(lambda: impatient.node(node)["lost_at"] is None)
    job.let_go()
    first, second = job.reaches("finished")["runs"]
    assert (first["cause"], second["cause"]) == ("node_lost", "finished")
