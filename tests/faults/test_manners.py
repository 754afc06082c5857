"""What a job leaves behind, takes without asking or overstays: it is ended whole, reported, or stopped."""

import os
import subprocess

import pytest

from tests.faults.person import Person
from tests.faults.whole import Whole, eventually
from tests.up.harness import commands_with

pytestmark = pytest.mark.whole


def test_a_cancelled_job_leaves_nothing_behind_that_changed_its_session(whole: Whole, person: Person) -> None:
    mark = f"97{whole.port}"
    hidden = f"setsid sleep {mark} & (setsid setsid env -i /bin/sleep {mark} &) ; echo hidden; sleep {mark}"
    job = person.submit(hidden, nodes=2, gpus_per_node=2)
    job.reaches("running")
    eventually(lambda: len(_sleepers(mark)) == 3 * 4)
    person.call("POST", f"/jobs/{job.number}/cancel")
    job.reaches("cancelled")
    assert _sleepers(mark) == []


def _sleepers(mark: str) -> list[str]:
    return [command for command in commands_with(mark) if command.split()[0].endswith("sleep")]


def test_a_process_on_a_gpu_that_nobody_gave_it_is_reported_and_forgotten_with_its_end(
    whole: Whole,
) -> None:
    gpu = "SELECT uuid FROM cluster_gpu g JOIN cluster_node n ON n.id = g.node_id WHERE n.name = 'n01' AND slot = 5"
    uuid = whole.rows(gpu)[0]["uuid"]
    env = {"BERTH_NODE": "n01", "CUDA_VISIBLE_DEVICES": uuid, "PATH": os.environ["PATH"]}
    trespasser = subprocess.Popen(["sleep", "600"], env=env)
    try:
        (seen,) = eventually(lambda: whole.node("n01")["latest"]["trespass"], 10)
        assert (seen["uuid"], seen["pid"], seen["name"]) == (uuid, trespasser.pid, "sleep")
    finally:
        trespasser.kill()
        trespasser.wait()
    eventually(lambda: not whole.node("n01")["latest"]["trespass"], 10)


def test_a_job_that_overstays_its_limit_is_stopped(whole: Whole, person: Person) -> None:
    job = person.submit("trap 'echo told; exit 0' TERM; while :; do sleep 0.1; done", limit_s=60)
    job.reaches("running")
    whole.rows("UPDATE jobs_job SET limit_s = 1 WHERE id = %s", job.number)
    (run,) = job.reaches("failed")["runs"]
    assert run["cause"] == "limit"
    eventually(lambda: "told" in job.printed())
