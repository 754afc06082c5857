"""Two at once: whoever comes second finds what the first one left, and nothing in between."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Any

from django.db import connection, transaction

from portal.errors import Conflict
from portal.jobs import actions, runs
from portal.jobs.models import Hold, Job, Run, Seat
from portal.journal.models import Entry
from tests.portal.caller import with_token
from tests.portal.stage import Stage, phase

ROUNDS = 8


def at_once(*deeds: Callable[[], Any]) -> list[Any]:
    """Each in a thread with a connection of its own, begun at the same moment; what each gave back."""
    line = threading.Barrier(len(deeds))

    def begin(deed: Callable[[], Any]) -> Any:
        try:
            line.wait(10)
            return deed()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return [future.result(timeout=30) for future in [pool.submit(begin, deed) for deed in deeds]]


def wait_until_blocked(deed: Future[Any]) -> None:
    """Until some other connection waits for a lock; a deed that is done waits for none."""
    until = monotonic() + 10
    with connection.cursor() as cursor:
        while monotonic() < until and not deed.done():
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            sleep(0.01)
    assert not deed.done(), f"it did not wait: {deed.result()}"


def test_cancelling_and_starting_at_once_ends_in_one_of_two_ways(stage_shared: Stage) -> None:
    stage = stage_shared
    stage.add_nodes("n1")
    ways = set()
    for _ in range(ROUNDS):
        job = stage.submit()
        at_once(stage.turn, lambda job=job: actions.cancel(job=job, by=stage.people["mira"], now=stage.now))
        held = Hold.objects.filter(run__job=job, released_at=None).count()
        ways.add((phase(job), Run.objects.filter(job=job, phase="stopping").count(), held))
    assert ways <= {("cancelled", 0, 0), ("stopping", 1, 1)}


def test_two_cancels_at_once_are_one(stage_shared: Stage) -> None:
    stage = stage_shared
    stage.add_nodes("n1")
    for running in (True, False):
        job = stage.submit()
        if running:
            stage.running(job)
        people = [stage.people["mira"], stage.people["yuki"]]
        done = at_once(*(partial(actions.cancel, job=job, by=by, now=stage.now) for by in people))
        done = [cancelled.phase for cancelled in done]
        assert done == ["stopping" if running else "cancelled"] * 2
        assert Entry.objects.filter(kind="job", subject=job.pk, verb="cancelled").count() == 1


def test_two_requests_with_one_key_at_once_are_one_job(stage_shared: Stage) -> None:
    stage = stage_shared
    stage.add_nodes("n1")
    callers = [with_token(stage.people["mira"], stage.now) for _ in range(2)]
    asked = {"name": "train", "team": "vision", "command": "true"}
    for number in range(ROUNDS):
        key = {"Idempotency-Key": f"k{number}"}
        answers = at_once(
            *(lambda caller=caller, key=key: caller.post("/jobs", asked, **key) for caller in callers)
        )
        assert [answer.status_code for answer in answers] == [201, 201]
        assert len({json.loads(answer.content)["id"] for answer in answers}) == 1
    assert Job.objects.count() == ROUNDS
    assert Entry.objects.filter(verb="submitted").count() == ROUNDS


def test_two_different_requests_with_one_key_at_once_are_one_job_and_one_conflict(
    stage_shared: Stage,
) -> None:
    stage = stage_shared
    stage.add_nodes("n1")
    callers = [with_token(stage.people["mira"], stage.now) for _ in range(2)]
    asked = [{"name": name, "team": "vision", "command": "true"} for name in ("one", "two")]
    pairs = zip(callers, asked, strict=True)
    key = {"Idempotency-Key": "k"}
    answers = at_once(
        *(lambda caller=caller, body=body: caller.post("/jobs", body, **key) for caller, body in pairs)
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert Job.objects.count() == 1


def test_a_limit_that_falls_due_while_the_run_ends_leaves_the_end_alone(stage_shared: Stage) -> None:
    """Its last beat is being written when the cycle finds it overdue."""
    stage = stage_shared
    stage.add_nodes("n1")
    job = stage.submit(limit_s=60)
    run = stage.running(job)
    stage.agents["n1"].end(run)
    seen = stage.agents["n1"].runs[run.pk]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=job.pk)
            stop = pool.submit(
                _closing, lambda: runs.begin_to_end(run=run, cause=Run.Cause.LIMIT, now=stage.now)
            )
            wait_until_blocked(stop)
            runs.observe(seat=run.seats.get(), seen=seen, now=stage.now)
        assert stop.result(timeout=10) is False
    assert phase(job) == "finished"


def test_a_cancel_that_waits_for_the_end_of_a_lost_run_finds_the_job_waiting(stage_shared: Stage) -> None:
    stage = stage_shared
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.running(job)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=job.pk)
            wish = lambda: actions.cancel(job=job, by=stage.people["mira"], now=stage.now)  # noqa: E731
            cancel = pool.submit(_closing, wish)
            wait_until_blocked(cancel)
            runs.lose(seat=run.seats.get(), now=stage.now, why="gone")
        assert cancel.result(timeout=10).phase == "cancelled"
    stage.turn()
    assert phase(job) == "cancelled"


def test_beats_turns_and_cancels_at_once_leave_nothing_behind(stage_shared: Stage) -> None:
    """A small storm: four things at once for a while, then everything comes to rest."""
    stage = stage_shared
    stage.add_nodes("n1", "n2", "n3", gpus=2)
    jobs = [stage.submit(nodes=1 + number % 2) for number in range(9)]

    def turning() -> None:
        for _ in range(6):
            stage.turn()

    at_once(turning, turning, partial(_beat_and_obey, stage), partial(_cancel, stage, jobs[::3]))
    until = monotonic() + 20
    while Job.objects.filter(ended_at=None).exists() and monotonic() < until:
        stage.later(0.1)
        stage.turn()
        _beat_and_obey(stage)
    assert {phase(job) for job in jobs} <= {"cancelled", "finished"}
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Run.objects.exclude(phase="ended").exists()


def _beat_and_obey(stage: Stage) -> None:
    """Start what is ordered, end what runs, and say so: as fast as agents could."""
    for _ in range(6):
        for name, agent in stage.agents.items():
            live = Seat.objects.filter(node=agent.node).exclude(phase="ended").select_related("run")
            for seat in live:
                (agent.end if seat.run_id in agent.runs else agent.start)(seat.run)
            stage.beat(name)


def _cancel(stage: Stage, jobs: list[Job]) -> None:
    for job in jobs:
        with suppress(Conflict):  # it was quicker
            actions.cancel(job=job, by=stage.people["mira"], now=stage.now)


def _closing(deed: Callable[[], Any]) -> Any:
    try:
        return deed()
    finally:
        connection.close()
