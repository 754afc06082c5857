"""The database is the last guard: it refuses what the code above it would never ask for."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from portal.cluster.models import Gpu
from portal.jobs.models import Hold, Job, Run
from portal.jobs.runs import begin_to_end
from portal.showback.pricing import Span, bill
from tests.portal.stage import Stage, held, phase


@pytest.fixture
def runs(stage: Stage) -> list[Run]:
    """Two runs of two jobs, and the GPUs of a node."""
    stage.add_nodes("n1")
    jobs = [stage.submit(), stage.submit()]
    return [Run.objects.create(job=job, epoch=1, created_at=stage.now) for job in jobs]


def insert(run: Run, gpu: Gpu, begin: datetime, end: datetime | None) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO jobs_hold (run_id, gpu_id, held_from, released_at) VALUES (%s, %s, %s, %s)",
            [run.pk, gpu.pk, begin, end],
        )


OVERLAPS = {
    "the same time": (0, 60),
    "from before into it": (-30, 1),
    "from inside to after it": (59, 120),
    "inside it": (10, 20),
    "around it": (-30, 90),
    "for ever, from inside": (30, None),
    "for ever, from before": (-30, None),
}


@pytest.mark.parametrize("span", OVERLAPS.values(), ids=OVERLAPS)
def test_a_gpu_is_not_held_twice_at_a_time(
    stage: Stage, runs: list[Run], span: tuple[int, int | None]
) -> None:
    gpu = Gpu.objects.first()
    assert gpu is not None
    at = lambda second: None if second is None else stage.now + timedelta(seconds=second)  # noqa: E731
    insert(runs[0], gpu, stage.now, at(60))
    with pytest.raises(IntegrityError, match="gpu_held_once"):
        insert(runs[1], gpu, at(span[0]), at(span[1]))


def test_back_to_back_is_fine_and_so_is_another_gpu(stage: Stage, runs: list[Run]) -> None:
    one, two = Gpu.objects.all()[:2]
    edge = stage.now + timedelta(seconds=60)
    insert(runs[0], one, stage.now, edge)
    insert(runs[1], one, edge, None)
    insert(runs[1], one, stage.now - timedelta(seconds=5), stage.now)
    insert(runs[1], two, stage.now, None)
    assert Hold.objects.count() == 4


def test_an_open_hold_keeps_everybody_out(stage: Stage, runs: list[Run]) -> None:
    gpu = Gpu.objects.first()
    assert gpu is not None
    insert(runs[0], gpu, stage.now, None)
    with pytest.raises(IntegrityError, match="gpu_held_once"):
        insert(runs[1], gpu, stage.now + timedelta(days=400), None)


def test_a_hold_cannot_end_before_it_began(stage: Stage, runs: list[Run]) -> None:
    gpu = Gpu.objects.first()
    assert gpu is not None
    with pytest.raises(DatabaseError):
        insert(runs[0], gpu, stage.now, stage.now - timedelta(microseconds=1))


def test_a_process_whose_clock_is_behind_still_releases(stage: Stage) -> None:
    """The cycle and the ears are two processes, perhaps on two machines."""
    stage.add_nodes("n1")
    job = stage.submit(gpus_per_node=8)
    run = stage.started(job)
    stage.agents["n1"].start(run)
    stage.agents["n1"].end(run)
    stage.later(-3)
    stage.beat()
    assert (phase(job), held(run)) == ("finished", 0)
    spans = [Span("H100", hold.held_from, hold.released_at) for hold in Hold.objects.all()]
    assert bill(spans, {}).gpu_ms == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"phase": "finished"},
        {"phase": "running", "ended_at": "2026-01-01T00:00Z"},
        {"nodes": 0},
        {"gpus_per_node": 0},
    ],
)
def test_a_job_cannot_be_in_two_minds(stage: Stage, runs: list[Run], wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=runs[0].job_id).update(**wrong)


def test_a_job_has_one_live_run_and_one_of_each_epoch(stage: Stage, runs: list[Run]) -> None:
    with pytest.raises(IntegrityError, match="one_live_run_per_job"), transaction.atomic():
        Run.objects.create(job=runs[0].job, epoch=2, created_at=stage.now)
    Run.objects.filter(pk=runs[0].pk).update(phase="ended", ended_at=stage.now)
    with pytest.raises(IntegrityError, match="one_run_per_epoch"), transaction.atomic():
        Run.objects.create(job=runs[0].job, epoch=1, created_at=stage.now)


def test_a_run_that_is_over_cannot_be_asked_to_end_and_leaves_its_job_alone(
    stage: Stage, runs: list[Run]
) -> None:
    Run.objects.filter(pk=runs[0].pk).update(phase="ended", ended_at=stage.now)
    assert not begin_to_end(run=runs[0], cause=Run.Cause.LIMIT, now=stage.now)
    assert Job.objects.get(pk=runs[0].job_id).phase == "waiting"


def test_a_gpu_that_moved_to_another_node_meanwhile_is_released_with_its_run(stage: Stage) -> None:
    stage.add_nodes("n1", "n2", gpus=1)
    job = stage.submit()
    run = stage.running(job)
    (here,) = stage.where(run)
    elsewhere = ({"n1", "n2"} - {here}).pop()
    Gpu.objects.filter(node__name=elsewhere).update(retired_at=stage.now)
    Gpu.objects.filter(node__name=here).update(node=stage.agents[elsewhere].node)
    stage.agents[here].end(run)
    stage.beat(here)
    assert (phase(job), held(run)) == ("finished", 0)
