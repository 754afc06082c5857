"""Cancelling: whenever, twice, and by whom it may be."""

import pytest
from redis import Redis

from portal.errors import Conflict
from portal.jobs import actions
from portal.jobs.models import Hold, Run
from portal.journal.models import Entry
from scheduler.wire import RunSeen
from tests.portal.stage import Stage, held, phase


def test_a_waiting_job_ends_at_once(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    actions.cancel(job=job, by=stage.people["mira"], now=stage.later())
    job.refresh_from_db()
    assert (job.phase, job.ended_at) == ("cancelled", stage.now)
    stage.turn()
    assert not Run.objects.exists()


def test_a_running_job_is_stopped_first_and_holds_its_gpus_until_then(stage: Stage, link: Redis) -> None:
    stage.add_nodes("n1")
    job = stage.submit(gpus_per_node=4)
    run = stage.running(job)
    actions.cancel(job=job, by=stage.people["mira"], now=stage.later())
    assert (phase(job), held(run)) == ("stopping", 4)
    stage.agents["n1"].orders(link)
    stage.turn()
    orders = stage.agents["n1"].orders(link)
    assert orders is not None
    assert [(one.run, one.want) for one in orders.runs] == [(run.pk, "stop")]
    stage.agents["n1"].end(run, signal=15)
    stage.later()
    stage.beat()
    run.refresh_from_db()
    assert (phase(job), run.cause, held(run)) == ("cancelled", "cancelled", 0)
    stage.later()
    stage.beat()
    after = stage.agents["n1"].orders(link)
    assert after is not None
    assert after.runs == ()


def test_a_starting_job_that_its_agent_never_began_ends_when_the_agent_says_so(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit(gpus_per_node=8)
    run = stage.started(job)
    actions.cancel(job=job, by=stage.people["mira"], now=stage.now)
    stage.agents["n1"].runs[run.pk] = RunSeen(run.pk, 1, "ended")
    stage.later()
    stage.beat()
    assert (phase(job), held(run)) == ("cancelled", 0)


def test_cancelling_twice_changes_nothing_and_is_told_once(stage: Stage) -> None:
    stage.add_nodes("n1")
    for job in (stage.submit(), stage.submit()):
        stage.turn()
        actions.cancel(job=job, by=stage.people["mira"], now=stage.later())
        once = phase(job)
        again = actions.cancel(job=job, by=stage.people["yuki"], now=stage.later())
        assert again.phase == once
        assert Entry.objects.filter(subject=job.pk, kind="job", verb="cancelled").count() == 1


@pytest.mark.parametrize(("exits", "word"), [({}, "finished"), ({0: 1}, "failed")])
def test_a_job_that_is_over_cannot_be_cancelled(stage: Stage, exits: dict[int, int], word: str) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.running(job)
    stage.agents["n1"].end(run, exits=exits)
    stage.beat()
    assert phase(job) == word
    with pytest.raises(Conflict, match=f"has already {word}"):
        actions.cancel(job=job, by=stage.people["mira"], now=stage.now)


def test_a_job_cancelled_while_a_lost_node_stops_it_does_not_start_again(stage: Stage) -> None:
    """The survivors are still stopping; without the wish the job would wait for new places."""
    stage.add_nodes("n1", "n2", "n3", "n4")
    job = stage.submit(nodes=2, gpus_per_node=8)
    run = stage.running(job)
    gone, survivor = stage.where(run)
    stage.pass_time(65, silent=[gone])
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, run.cause) == ("stopping", "node_lost")
    actions.cancel(job=job, by=stage.people["mira"], now=stage.now)
    stage.agents[survivor].end(run, signal=15)
    stage.beat(survivor)
    run.refresh_from_db()
    assert (phase(job), run.cause) == ("cancelled", "cancelled")


def test_a_cancelled_job_whose_node_is_lost_meanwhile_ends_cancelled(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit()
    run = stage.running(job)
    actions.cancel(job=job, by=stage.people["mira"], now=stage.now)
    stage.pass_time(65, silent=stage.where(run))
    stage.turn()
    assert (phase(job), held(run)) == ("cancelled", 0)


def test_a_failing_job_stays_failed_when_it_is_cancelled_meanwhile(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit(nodes=2, gpus_per_node=8)
    run = stage.running(job)
    stage.agents["n1"].end(run, exits={0: 9})
    stage.beat("n1")
    actions.cancel(job=job, by=stage.people["mira"], now=stage.now)
    stage.agents["n2"].end(run, signal=15)
    stage.beat("n2")
    assert phase(job) == "failed"


def test_a_time_limit_stops_a_run_and_fails_the_job(stage: Stage, link: Redis) -> None:
    stage.add_nodes("n1")
    job = stage.submit(limit_s=60)
    run = stage.running(job)
    stage.later(59)
    stage.beat()
    stage.turn()
    assert phase(job) == "running"
    stage.later(1)
    stage.turn()
    assert phase(job) == "stopping"
    stage.agents["n1"].end(run, signal=15)
    stage.beat()
    run.refresh_from_db()
    assert (phase(job), run.cause) == ("failed", "limit")


def test_the_limit_counts_from_when_every_rank_runs_not_from_submission(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.later(-600)
    job = stage.submit(limit_s=60)
    stage.later(600)
    stage.running(job)
    stage.turn()
    assert phase(job) == "running"


def test_what_was_freed_is_given_on_in_the_next_turn(stage: Stage) -> None:
    stage.add_nodes("n1")
    first, second = stage.submit(gpus_per_node=8), stage.submit(gpus_per_node=8)
    run = stage.running(first)
    assert phase(second) == "waiting"
    stage.agents["n1"].end(run)
    stage.later()
    stage.beat()
    stage.turn()
    assert (phase(first), phase(second)) == ("finished", "starting")
    assert Hold.objects.filter(released_at=None).count() == 8
