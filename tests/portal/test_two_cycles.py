"""Two schedulers at once do no harm: two real processes turn the cycle on the same queue."""

import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest

from portal.cycle.models import Intent
from portal.jobs.models import Hold, Job, Receipt, Run, Seat
from tests.portal.stage import Stage

SCHEDULER = """
import sys, time
import django
django.setup()
from contextlib import nullcontext
from django.utils import timezone
from portal.cycle import actions
from portal.jobs.models import Job

if sys.argv[1] == "without":
    actions._alone = lambda: nullcontext(True)  # as if somebody forgot the lock: the database must hold
print("ready", flush=True)
sys.stdin.readline()
until, turns = time.monotonic() + 20, int(sys.argv[2])
while time.monotonic() < until and turns and Job.objects.filter(phase="waiting").exists():
    cycle, turns = actions.turn(now=timezone.now()), turns - 1
    print(cycle.started, cycle.skipped, cycle.stopped, flush=True)
"""


def race(environment: dict[str, str], lock: str, turns: int = 1_000) -> list[tuple[int, int, int]]:
    """Both processes are ready, then both begin; what each turn started, skipped and stopped."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", SCHEDULER, lock, str(turns)],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        found = []
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        for racer in racers:
            out, err = racer.communicate(timeout=40)
            assert racer.returncode == 0, err
            found += [tuple(map(int, line.split())) for line in out.splitlines()]
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    return found


@pytest.mark.parametrize("lock", ["with", "without"])
def test_two_processes_start_every_job_once(
    stage_shared: Stage, portal_environment: dict[str, str], lock: str
) -> None:
    stage = stage_shared
    stage.add_nodes(*[f"n{number}" for number in range(6)])
    jobs = [stage.submit(gpus_per_node=size) for size in (1, 2, 3, 2)]
    jobs += [stage.submit(nodes=2, gpus_per_node=4) for _ in range(4)]
    jobs += [stage.submit() for _ in range(8)]
    turns = race(portal_environment, lock)
    assert sum(started for started, _, _ in turns) == len(jobs)
    assert set(Job.objects.values_list("phase", flat=True)) == {"starting"}
    assert Counter(Run.objects.values_list("job_id", flat=True)) == Counter(job.pk for job in jobs)
    held = Counter(Hold.objects.filter(released_at=None).values_list("gpu_id", flat=True))
    assert set(held.values()) == {1}
    assert held.total() == sum(job.nodes * job.gpus_per_node for job in jobs)
    assert Seat.objects.count() == sum(job.nodes for job in jobs)


@pytest.mark.parametrize("lock", ["with", "without"])
def test_two_processes_ask_one_victim_for_each_who_is_owed_a_place(
    stage_shared: Stage, portal_environment: dict[str, str], lock: str
) -> None:
    stage = stage_shared
    stage.add_nodes(*[f"n{number}" for number in range(6)])
    for number in range(6):
        name = f"sweep-{number}"
        stage.running(stage.submit(name, tier="opportunistic", gpus_per_node=8, by="omar", team="language"))
    Run.objects.update(started_at=stage.now - timedelta(hours=1))
    urgent = [stage.submit(f"urgent-{n}", tier="production", gpus_per_node=8) for n in range(4)]
    turns = race(portal_environment, lock, turns=4)
    assert sum(stopped for _, _, stopped in turns) == len(urgent)
    assert Run.objects.filter(phase="stopping", cause="preempted").count() == len(urgent)
    assert Counter(Receipt.objects.values_list("for_job_id", flat=True)) == Counter(job.pk for job in urgent)
    claims = Intent.objects.get().claims
    assert {claim["job"] for claim in claims} == {job.pk for job in urgent}
