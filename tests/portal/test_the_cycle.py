"""One turn of the cycle: what it writes, what it leaves alone, and how many queries it takes."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection

from portal.cluster import actions as cluster
from portal.cluster.models import Node
from portal.cycle import actions, apply, snapshot
from portal.cycle.models import Cycle
from portal.jobs.actions import cancel
from portal.jobs.models import Hold, Job, Run
from portal.quotas.models import Quota
from scheduler.core.model import Seat
from scheduler.core.planner import plan
from scheduler.core.verbs import Plan, Start
from tests.portal.conftest import counted
from tests.portal.stage import Stage, phase


def writes(queries: list[dict[str, str]]) -> list[str]:
    """The updates of jobs among these queries."""
    return [each["sql"] for each in queries if re.match(r"\s*UPDATE \"?jobs_job", each["sql"])]


def test_a_job_that_cannot_start_is_told_why_with_numbers(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    stage.submit(nodes=2, gpus_per_node=5)
    waits = stage.submit(nodes=1, gpus_per_node=8)
    stage.turn()
    waits.refresh_from_db()
    assert (waits.phase, waits.reason, waits.reason_since) == ("waiting", "order", stage.now)
    assert waits.reason_numbers["took_gpus"] == 10
    stage.later()
    stage.turn()
    waits.refresh_from_db()
    assert (waits.reason, waits.reason_numbers["free"], waits.reason_since) == ("full", 6, stage.now)


def test_a_verdict_that_did_not_change_is_not_written_again(stage: Stage) -> None:
    stage.add_nodes("n1")
    limited = stage.submit(gpus_per_node=8, limit_s=7200)
    stage.running(limited)
    Quota.objects.create(team=stage.teams["language"], gpu_type="H100", nominal=4)
    stage.submit(gpus_per_node=8)
    stage.submit(gpus_per_node=4, by="omar", team="language")
    for _ in range(8):
        stage.submit(gpus_per_node=2)
    with counted() as first:
        stage.turn()
    assert len(writes(first.captured_queries)) == 1
    since = set(Job.objects.filter(phase="waiting").values_list("reason_since", flat=True))
    stage.later(1)
    stage.beat()
    cycles = Cycle.objects.count()
    with counted() as second:
        stage.turn()
    assert writes(second.captured_queries) == []
    assert set(Job.objects.filter(phase="waiting").values_list("reason_since", flat=True)) == since
    assert Cycle.objects.count() == cycles


def test_only_the_verdict_that_changed_is_written(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.running(stage.submit(gpus_per_node=8))
    kept = stage.submit(gpus_per_node=2)
    stage.turn()
    Job.objects.filter(pk=kept.pk).update(reason="order")
    stage.submit(gpus_per_node=2)
    assert apply.verdicts(plan(snapshot.take(now=stage.now)).verdicts, now=stage.later()) == 2
    assert apply.verdicts(plan(snapshot.take(now=stage.now)).verdicts, now=stage.later()) == 0


def test_a_verdict_of_a_job_that_changed_meanwhile_is_dropped(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.running(stage.submit(gpus_per_node=8))
    job = stage.submit()
    decided = plan(snapshot.take(now=stage.now))
    Job.objects.filter(pk=job.pk).update(version=99)
    assert apply.verdicts(decided.verdicts, now=stage.now) == 0
    assert Job.objects.get(pk=job.pk).reason == ""


@pytest.mark.parametrize(
    "change", ["cancelled", "changed", "drained", "lost", "silent", "gpu gone", "held by another"]
)
def test_a_start_whose_facts_no_longer_hold_is_skipped_whole(stage: Stage, change: str) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit(nodes=2, gpus_per_node=8)
    other = stage.submit()
    decided = plan(snapshot.take(now=stage.now))
    decided = replace(decided, starts=tuple(start for start in decided.starts if start.job == job.pk))
    node = Node.objects.get(name="n2")
    match change:
        case "cancelled":
            cancel(job=job, by=stage.people["mira"], now=stage.now)
        case "changed":
            Job.objects.filter(pk=job.pk).update(version=job.version + 1)
        case "drained":
            cluster.drain(node=node, by=stage.people["noor"], reason="fan", now=stage.now)
        case "lost":
            Node.objects.filter(pk=node.pk).update(lost_at=stage.now)
        case "silent":
            Node.objects.filter(pk=node.pk).update(last_seen_at=stage.now - timedelta(seconds=31))
        case "gpu gone":
            node.gpus.filter(slot=7).update(retired_at=stage.now)
        case "held by another":
            rival = Run.objects.create(job=other, epoch=1, created_at=stage.now)
            Hold.objects.create(run=rival, gpu=node.gpus.get(slot=7), held_from=stage.now)
    before = phase(job)
    assert apply.starts(decided, caps={}, now=stage.now) == (set(), 1)
    assert phase(job) == before
    assert not Run.objects.filter(job=job).exists()
    assert Hold.objects.count() == (1 if change == "held by another" else 0)


def test_one_refused_gang_does_not_hold_up_the_others(stage: Stage) -> None:
    stage.add_nodes("n1")
    jobs = [stage.submit() for _ in range(3)]
    node = Node.objects.get()
    starts = tuple(Start(job.pk, job.version, (Seat(node.pk, (0,)),)) for job in jobs[:2])
    starts += (Start(jobs[2].pk, jobs[2].version, (Seat(node.pk, (1,)),)),)
    assert apply.starts(Plan(starts, ()), caps={}, now=stage.now) == ({node.pk}, 1)
    assert [phase(job) for job in jobs] == ["starting", "waiting", "starting"]


def test_production_goes_before_standard_before_opportunistic(stage: Stage) -> None:
    stage.add_nodes("n1")
    tiers = ["opportunistic", "standard", "production"]
    jobs = {tier: stage.submit(tier=tier, gpus_per_node=8) for tier in tiers}
    stage.turn()
    assert {tier: phase(job) for tier, job in jobs.items()} == {
        "production": "starting", "standard": "waiting", "opportunistic": "waiting",
    }  # fmt: skip


def test_a_team_takes_no_more_than_its_quota_and_its_parents(stage: Stage) -> None:
    stage.add_nodes("n1")
    Quota.objects.create(team=stage.teams["research"], gpu_type="H100", nominal=6)
    Quota.objects.create(team=stage.teams["vision"], gpu_type="H100", nominal=4)
    mine = [stage.submit(gpus_per_node=2) for _ in range(3)]
    theirs = [stage.submit(gpus_per_node=2, by="omar", team="language") for _ in range(2)]
    stage.turn()
    assert [phase(job) for job in mine] == ["starting", "starting", "waiting"]
    assert [phase(job) for job in theirs] == ["starting", "waiting"]
    mine[2].refresh_from_db()
    theirs[1].refresh_from_db()
    assert (mine[2].reason, mine[2].reason_numbers["team"]) == ("team_limit", "vision")
    assert (theirs[1].reason, theirs[1].reason_numbers["team"]) == ("team_limit", "research")


def test_a_snapshot_takes_as_many_queries_for_50_as_for_1(stage: Stage) -> None:
    def take() -> int:
        with counted() as queries:
            snapshot.take(now=stage.now)
        return len(queries)

    stage.add_nodes("n0")
    stage.running(stage.submit())
    stage.submit(gpus_per_node=8)
    one = take()
    stage.add_nodes(*[f"n{number}" for number in range(1, 51)], gpus=1)
    for _ in range(50):
        stage.submit()
    stage.turn()
    for _ in range(50):
        stage.submit()
    assert Hold.objects.count() > 50
    assert (one, take()) == (17, 17)  # fifteen, and the savepoint around them


def test_a_turn_with_nothing_to_do_takes_a_fixed_number_of_queries(stage: Stage) -> None:
    def quiet_turn() -> int:
        stage.turn()
        with counted() as queries:
            stage.turn()
        return len(queries)

    stage.add_nodes("n0")
    stage.submit(gpus_per_node=8, limit_s=600)
    stage.submit()
    few = quiet_turn()
    stage.add_nodes(*[f"n{number}" for number in range(1, 21)], gpus=1)
    for _ in range(40):
        stage.submit(limit_s=600)
    assert quiet_turn() == few


def test_what_a_turn_did_is_kept_for_a_week(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.submit()
    stage.turn()
    turn = Cycle.objects.get()
    assert (turn.began_at, turn.waiting, turn.started, turn.skipped) == (stage.now, 1, 1, 0)
    assert actions.sweep(now=stage.now + timedelta(days=7)) == 0
    assert actions.sweep(now=stage.now + timedelta(days=7, seconds=1)) == 1


def test_a_turn_while_another_process_is_at_it_gives_up_and_does_nothing(
    stage_shared: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage_shared.add_nodes("n1")
    job = stage_shared.submit()
    monkeypatch.setattr(actions, "WAIT_MS", 50)
    rival = connection.copy()
    try:
        with rival.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [actions.THE_CYCLE])
        assert stage_shared.turn() is None
        assert phase(job) == "waiting"
    finally:
        with rival.cursor() as cursor:  # closing alone gives it to the pool, lock and all
            cursor.execute("SELECT pg_advisory_unlock(%s)", [actions.THE_CYCLE])
        rival.close()
    assert stage_shared.turn() is not None
    assert phase(job) == "starting"
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)
