"""Longer trials, run by hand: `./manage.py test` leaves them out, `pytest -m long tests/faults` runs them.

An outage longer than a beat lives, and minutes of random kills, which BERTH_CHAOS_S and BERTH_CHAOS_SEED change;
above 150 s give `-o faulthandler_timeout=0` as well.
"""

import os
import random
import signal
import time
from datetime import UTC, datetime

import pytest

from tests.faults.person import OVER, Job, Person
from tests.faults.whole import PORTAL, Whole, eventually

pytestmark = [pytest.mark.whole, pytest.mark.long, pytest.mark.limit(600)]

OUTAGE_S = 75  # beats live a minute
CHAOS_S = float(os.environ.get("BERTH_CHAOS_S", "120"))
SEED = int(os.environ.get("BERTH_CHAOS_SEED", "1"))
SERVERS = ("postgres", "valkey")
AGENTS = ("n01", "n02", "n03")


def test_after_an_outage_in_which_every_queued_beat_expired_everybody_is_heard_again(
    whole: Whole, person: Person
) -> None:
    job = person.train("outage", nodes=3, gpus_per_node=1)
    with whole.standing_still(*PORTAL):
        until = time.monotonic() + OUTAGE_S
        while time.monotonic() < until:
            assert max(whole.queued().values()) <= 6
            time.sleep(1)
    moment = datetime.now(UTC)
    eventually(lambda: whole.all_heard_since(moment))
    job.goes_on()
    job.let_go()
    job.reaches("finished")
    assert whole.lost() == []


def test_whatever_is_killed_and_whenever_every_job_ends_as_it_should(whole: Whole, person: Person) -> None:
    dice = random.Random(SEED)
    jobs: list[tuple[Job, str]] = []
    until = time.monotonic() + CHAOS_S
    while time.monotonic() < until:
        strike(dice, whole)
        status = dice.choice([0, 0, 0, 3])
        command = (
            f"for i in 1 2 3 4 5; do echo line $i; sleep {dice.uniform(0.01, 0.5):.2f}; done; exit {status}"
        )
        if job := try_to_submit(person, command, nodes=dice.randint(1, 3), gpus_per_node=dice.randint(1, 4)):
            jobs.append((job, "failed" if status else "finished"))
        time.sleep(dice.uniform(0.2, 2.0))
    assert len(jobs) > CHAOS_S / 10
    for job, ending in jobs:
        ended_as_it_should(job, ending)
    assert whole.rows("SELECT 1 FROM jobs_hold WHERE released_at IS NULL") == []
    assert whole.lost() == []


def ended_as_it_should(job: Job, ending: str) -> None:
    eventually(lambda: job.phase in OVER, 120)
    seen = job.seen()
    assert (seen["phase"], len(seen["runs"])) == (ending, 1), f"seed {SEED}\n{job.story()}"
    if ending == "finished":
        eventually(lambda: job.printed() == "".join(f"line {number}\n" for number in range(1, 6)))


def strike(dice: random.Random, whole: Whole) -> None:
    """Kill one part, or let it stand still for a while."""
    name = dice.choice([*PORTAL, *SERVERS, *AGENTS])
    try:
        if name in SERVERS or dice.random() < 0.7:
            os.kill(whole.pid(name), signal.SIGKILL)
            return
        with whole.standing_still(name):
            time.sleep(dice.uniform(0.1, 3.0))
    except ProcessLookupError:
        return  # it is dead already and waits for its turn to start again


def try_to_submit(person: Person, command: str, **more: object) -> Job | None:
    """A portal that is half dead may refuse; what it accepted counts."""
    try:
        return person.submit(command, **more)
    except (OSError, AssertionError, ValueError):
        return None
