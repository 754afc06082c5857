"""The cycle at the size it is made for. Statements are counted; times are told (--log-cli-level=info), never asserted."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import pytest
from django.db import connection

from portal.accounts.models import Team, User
from portal.cluster.models import Node
from portal.cycle import apply, settle, snapshot, stops
from portal.jobs.models import Hold, Job, Rank, Run, Seat
from portal.journal.models import Entry
from scheduler.core.model import Seat as CoreSeat
from scheduler.core.reasons import Reason
from scheduler.core.verbs import Plan, Receipt, Start, Stop, Verdict, Why
from tests.portal import crowd
from tests.portal.conftest import counted
from tests.portal.stage import Stage

Owners = list[tuple[Team, User]]


@contextmanager
def reported(what: str) -> Iterator[None]:
    began = perf_counter()
    yield
    logging.getLogger(__name__).info("%s: %.2f s", what, perf_counter() - began)


@pytest.fixture
def owners(stage: Stage) -> Owners:
    return crowd.people(20, 25)


def full_nodes(jobs: list[Job], nodes: list[Node]) -> tuple[Start, ...]:
    """Each job on a node of its own, with as many GPUs as it asks for there."""
    return tuple(
        Start(job.pk, job.version, (CoreSeat(node.pk, tuple(range(job.gpus_per_node))),))
        for job, node in zip(jobs, nodes, strict=True)
    )


@pytest.mark.limit(180)
def test_a_cold_snapshot_of_2000_nodes_and_10000_waiting(stage: Stage, owners: Owners) -> None:
    nodes = crowd.nodes(stage.pool(), 2_000, now=stage.now)
    crowd.waiting(owners, 10_000, now=stage.now)
    crowd.running(owners, nodes[:1_500], now=stage.now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with counted() as queries, reported("cold snapshot, 2,000 nodes, 1,500 running, 10,000 waiting"):
        snap = snapshot.take(now=stage.now)
    assert len(queries) == 17
    assert (len(snap.nodes), len(snap.waiting), len(snap.running)) == (2_000, 10_000, 1_500)
    assert int(snap.free.sum()) == 500 * crowd.GPUS
    assert len({id(job.request) for job in snap.waiting}) < 60
    assert len(snap.usage) == len(owners)
    assert sum(run.gpus for run in snap.running) == 1_500 * crowd.GPUS
    _write_10000_verdicts(snap.waiting, stage)


def _write_10000_verdicts(waiting: tuple[object, ...], stage: Stage) -> None:
    found = [Verdict(job.id, job.version, Reason.FULL, {"asked": 8}, 0, 0) for job in waiting]  # type: ignore[attr-defined]  # jobs of the core
    with counted() as queries, reported("10,000 new verdicts"):
        assert apply.verdicts(found, now=stage.now) == 10_000
    assert len(queries) == 2
    with counted() as queries, reported("10,000 verdicts that say the same"):
        assert apply.verdicts(found, now=stage.now) == 0
    assert len(queries) == 1


@pytest.mark.limit(120)
def test_400_starts_take_a_few_statements_for_each_hundred(stage: Stage, owners: Owners) -> None:
    nodes = crowd.nodes(stage.pool(), 400, now=stage.now)
    jobs = [job for job in crowd.waiting(owners, 2_000, now=stage.now) if job.nodes == 1][:400]
    starts = full_nodes(jobs, nodes)
    with counted() as queries, reported("400 starts"):
        assert apply.starts(Plan(starts, ()), caps={}, now=stage.now) == ({node.pk for node in nodes}, 0)
    assert len(queries) <= 4 * 14
    gpus = sum(job.gpus for job in jobs)
    assert Run.objects.filter(phase="starting").count() == Seat.objects.count() == 400
    assert Hold.objects.filter(released_at=None).count() == Rank.objects.count() == gpus
    assert Entry.objects.filter(verb="placed").count() == 400
    assert set(Job.objects.filter(pk__in=[job.pk for job in jobs]).values_list("phase", "version")) == {
        ("starting", 2)
    }


@pytest.mark.limit(120)
def test_one_gpu_taken_twice_costs_its_gang_and_nobody_elses(stage: Stage, owners: Owners) -> None:
    """The batch is refused, then its halves, down to the one that the database means."""
    nodes = crowd.nodes(stage.pool(), 60, now=stage.now)
    jobs = [job for job in crowd.waiting(owners, 300, now=stage.now) if job.nodes == 1][:60]
    starts = list(full_nodes(jobs, nodes))
    starts[41] = Start(jobs[41].pk, 1, (CoreSeat(nodes[17].pk, tuple(range(jobs[41].gpus_per_node))),))
    with counted() as queries:
        done, skipped = apply.starts(Plan(tuple(starts), ()), caps={}, now=stage.now)
    assert (len(done), skipped) == (59, 1)
    assert len(queries) < 200
    assert Job.objects.get(pk=jobs[41].pk).phase == "waiting"
    assert not Run.objects.filter(job=jobs[41]).exists()
    held = Hold.objects.filter(released_at=None).values_list("gpu_id", flat=True)
    assert len(held) == len(set(held))


@pytest.mark.limit(120)
def test_128_stops_take_as_many_statements_as_one(stage: Stage, owners: Owners) -> None:
    nodes = crowd.nodes(stage.pool(), 128, now=stage.now)
    runs = crowd.running(owners, nodes, now=stage.now)
    (wants,) = crowd.waiting(owners, 1, now=stage.now)
    asked = [Stop(run.job_id, Why.PREEMPTED, wants.pk, Receipt(60.0, {})) for run in runs]
    with counted() as queries, reported("128 stops"):
        assert stops.ask(asked, grace_s=120.0, now=stage.now) == 128
    assert len(queries) == 8


def test_the_order_of_10000_is_one_row_written_when_it_changes(stage: Stage) -> None:
    order = tuple(range(1, 10_001))
    with counted() as queries, reported("an order of 10,000"):
        assert settle.keep_line(Plan((), (), order=order))
    assert len(queries) == 2
    assert not settle.keep_line(Plan((), (), order=order))
    assert settle.keep_line(Plan((), (), order=order[1:]))
