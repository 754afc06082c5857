"""The portal stands still for longer than a node may be silent: nobody is lost for it, and no queue grows."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.faults.person import Person
from tests.faults.whole import Whole, eventually
from tests.up.harness import ROOT

pytestmark = [pytest.mark.whole, pytest.mark.limit(120)]

PATIENCE_S = 12  # the shortest that leaves a node time to beat again after a short outage of Valkey
UNANSWERED = 2  # beats an agent sends without an answer


@pytest.fixture
def impatient(whole: Whole) -> Iterator[Whole]:
    whole.patience(PATIENCE_S)
    yield whole
    whole.patience(60)


def test_a_portal_that_stood_still_loses_nobody_and_finds_short_queues(
    impatient: Whole, person: Person
) -> None:
    job = person.train("meanwhile", nodes=3, gpus_per_node=1)
    with impatient.standing_still("work"):
        with impatient.standing_still("web", "cycle", "beat"):
            most = busiest(impatient, PATIENCE_S + 2)
        # The hardest way to come back: the cycle turns before anybody listens, and what was queued is lost.
        turns = impatient.log("cycle").count("succeeded")
        eventually(lambda: impatient.log("cycle").count("succeeded") > turns + 1)
        with impatient.valkey() as link:
            link.delete("beats")
    moment = datetime.now(UTC)
    assert most["beats"] <= UNANSWERED * impatient.agents
    assert all(count <= 1 for name, count in most.items() if name.startswith("node."))
    eventually(lambda: impatient.all_heard_since(moment))
    job.goes_on()
    job.let_go()
    (run,) = job.reaches("finished")["runs"]
    assert [rank["exit"] for rank in run["ranks"]] == [0, 0, 0]
    assert impatient.lost() == []


def busiest(whole: Whole, seconds: float) -> Counter[str]:
    """The longest that each queue got within this time."""
    most: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        most |= Counter(whole.queued())
        time.sleep(0.2)
    return most


def test_two_cycles_at_once_start_every_job_once(whole: Whole, person: Person) -> None:
    words = "-m celery -A portal worker -Q cycle -P threads -c 1 -n second@%h -l INFO --without-gossip"
    log = whole.place / "second.log"
    with log.open("wb") as out:
        second = subprocess.Popen(
            [sys.executable, *words.split(), "--without-mingle", "--without-heartbeat"],
            env=whole.env | {"PATH": "/usr/bin:/bin"},
            cwd=ROOT,
            stdout=out,
            stderr=out,
        )
    try:
        eventually(lambda: b" ready." in log.read_bytes())
        turns = log.read_bytes().count(b"tick")
        jobs = [person.submit("sleep 0.2", nodes=1 + number % 3) for number in range(12)]
        for job in jobs:
            assert len(job.reaches("finished")["runs"]) == 1
        assert log.read_bytes().count(b"tick") > turns, "the second one had no turn"
    finally:
        second.terminate()
        second.wait(20)
    twice = "SELECT gpu_id FROM jobs_hold GROUP BY gpu_id, held_from HAVING count(*) > 1"
    assert whole.rows(twice) == []
