"""Decayed use: exact whenever one looks, however often the meter was read in between, and cheap with a long past."""

import math
import random
from datetime import datetime, timedelta

import pytest

from portal.cluster.models import Gpu
from portal.cycle import policy, settle, snapshot, usage
from portal.cycle.models import Meter, Used
from portal.jobs.models import Hold, Job, Run
from scheduler.core.share import Usage
from tests.portal import crowd
from tests.portal.conftest import counted
from tests.portal.stage import Stage

WEEK = 604_800.0
HOUR = timedelta(hours=1)


def hold(job: Job, gpus: list[Gpu], begin: datetime, end: datetime | None) -> Run:
    """A run of the past, or one that goes on."""
    epoch = Run.objects.filter(job=job).count() + 1
    phase = "ended" if end else "running"
    run = Run.objects.create(
        job=job, epoch=epoch, created_at=begin, started_at=begin, ended_at=end, phase=phase
    )
    Hold.objects.bulk_create(Hold(run=run, gpu=gpu, held_from=begin, released_at=end) for gpu in gpus)
    return run


def read(stage: Stage, now: datetime) -> dict[tuple[str, str], float]:
    return dict(snapshot.take(now=now).usage)


def test_use_is_the_same_as_the_cores_whenever_the_meter_is_read(stage: Stage) -> None:
    """Two people hold and release by chance; every reading in between must leave the sum alone."""
    stage.add_nodes("n1", "n2")
    gpus, dice, expected = list(Gpu.objects.all()), random.Random(7), Usage(WEEK)
    jobs = {"mira": stage.submit(by="mira"), "omar": stage.submit(by="omar", team="language")}
    owners = {"mira": ("vision", "mira@example.org"), "omar": ("language", "omar@example.org")}
    at, free = stage.now, {"mira": gpus[:8], "omar": gpus[8:]}
    for _ in range(12):
        who, count = dice.choice(["mira", "omar"]), dice.randint(1, 8)
        end = at + timedelta(seconds=dice.uniform(1, 90_000))
        hold(jobs[who], free[who][:count], at, end)
        expected.change(owners[who], count, at.timestamp())
        expected.change(owners[who], -count, end.timestamp())
        at = end + timedelta(seconds=dice.uniform(0, 5_000))
        if dice.random() < 0.5:
            settle.read_meter(read(stage, at), half_life_s=WEEK, now=at)
            assert Meter.objects.get().at == at
    Job.objects.filter(pk=jobs["mira"].pk).update(phase="running")
    hold(jobs["mira"], free["mira"][:3], at, None)
    expected.change(owners["mira"], 3, at.timestamp())
    for later in (at, at + HOUR, at + 100 * HOUR):
        found = read(stage, later)
        assert set(found) == set(owners.values())
        for owner, amount in expected.all(later.timestamp()).items():
            assert found[owner] == pytest.approx(amount, rel=1e-6)
        settle.read_meter(found, half_life_s=WEEK, now=later)


def test_a_gpu_second_counts_half_after_a_half_life(stage: Stage) -> None:
    stage.add_nodes("n1")
    gpus, job = list(Gpu.objects.all()), stage.submit()
    hold(job, gpus, stage.now - HOUR, stage.now)
    fresh = read(stage, stage.now)["vision", "mira@example.org"]
    assert fresh == pytest.approx(8 * 3600, rel=0.01)
    aged = read(stage, stage.now + timedelta(seconds=WEEK))["vision", "mira@example.org"]
    assert aged == pytest.approx(fresh / 2, rel=1e-9)


def test_another_half_life_counts_the_past_anew(stage: Stage) -> None:
    stage.add_nodes("n1")
    gpus, job = list(Gpu.objects.all()), stage.submit()
    hold(job, gpus, stage.now - 2 * HOUR, stage.now - HOUR)
    settle.read_meter(read(stage, stage.now), half_life_s=WEEK, now=stage.now)
    policy.set_policy(
        figures={"half_life_s": 3600}, seen=0, why="forget soon", by=stage.people["noor"], now=stage.now
    )
    found = read(stage, stage.now)["vision", "mira@example.org"]
    assert found == pytest.approx(8 * 3600 / math.log(2) * (0.5 - 0.25), rel=1e-9)
    assert settle.read_meter(read(stage, stage.now), half_life_s=3600.0, now=stage.now)
    assert Meter.objects.get().half_life_s == 3600.0


def test_the_meter_is_read_every_ten_minutes_by_the_turn(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.running(stage.submit(gpus_per_node=4))
    first = Meter.objects.get().at
    stage.later(590)
    stage.beat()
    stage.turn()
    assert Meter.objects.get().at == first
    stage.later(20)
    stage.beat()
    stage.turn()
    assert Meter.objects.get().at == stage.now
    assert Used.objects.get().gpu_s == pytest.approx(4 * 611, rel=0.01)


def test_what_is_all_but_forgotten_is_not_kept(stage: Stage) -> None:
    stage.add_nodes("n1")
    hold(stage.submit(), list(Gpu.objects.all()), stage.now - HOUR, stage.now)
    later = stage.now + timedelta(seconds=31 * WEEK)
    assert read(stage, later) == {}
    settle.read_meter({("vision", "mira@example.org"): 1e-4}, half_life_s=WEEK, now=later)
    assert not Used.objects.exists()


@pytest.mark.limit(60)
def test_a_long_past_is_added_up_once(stage: Stage) -> None:
    """100,000 holds that ended: the first reading takes them all, every later one only what came since."""
    owners = crowd.people(10, 10)
    gpus = list(Gpu.objects.filter(node__in=crowd.nodes(stage.pool(), 50, now=stage.now)))
    crowd.past(owners, gpus, 250, now=stage.now)
    assert Hold.objects.count() == 100_000
    crowd.seen_empty()
    with counted() as queries:
        first = usage.amounts((), half_life_s=WEEK, now=stage.now)
    assert len(queries) == 6
    assert len(first) == 100
    settle.read_meter(first, half_life_s=WEEK, now=stage.now)
    later = stage.now + HOUR
    assert list(usage._released(stage.now)) == []
    second = usage.amounts((), half_life_s=WEEK, now=later)
    faded = 0.5 ** (3600 / WEEK)
    assert second == pytest.approx({owner: amount * faded for owner, amount in first.items()})
