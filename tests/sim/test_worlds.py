"""The random replays are what they promise: every column of the contract, and a fight for every cluster."""

import csv
import io
import json

from hypothesis import given, settings

from tests.sim import worlds
from tests.sim.checker import reading
from tests.sim.worlds import World, build

MANY = [build(2 + seed % 7, 5 + seed % 36, seed) for seed in range(300)]
quick = settings(max_examples=60, deadline=None, database=None)


def test_every_column_of_the_contract_occurs() -> None:
    assert {column for world in MANY for row in world.jobs for column in row} == set(worlds.COLUMNS)
    assert {column for world in MANY for row in world.faults for column in row} == set(worlds.FAULT_COLUMNS)
    described = {key for world in MANY for node in world.cluster["nodes"] for key in node}
    assert described >= {"pool", "nvlink_domain", "cpus", "memory_gib", "spot", "features", "gpu_memory_gib"}


def test_most_clusters_are_asked_for_more_than_they_have_at_once() -> None:
    fights = sum(_asked(world) > sum(node["gpus"] for node in world.cluster["nodes"]) for world in MANY)
    assert fights > 0.9 * len(MANY)


def _asked(world: World) -> int:
    return sum(job.gpus for job in reading.jobs(world.jobs).values())


@quick
@given(worlds.worlds())
def test_the_texts_say_the_same_as_the_rows(world: World) -> None:
    texts = world.texts()
    read = list(csv.DictReader(io.StringIO(texts["JOBS.csv"])))
    assert reading.jobs(read) == reading.jobs(world.jobs)
    broken = list(csv.DictReader(io.StringIO(texts["FAULTS.csv"])))
    assert reading.faults(broken) == reading.faults(world.faults)
    assert json.loads(texts["CLUSTER.json"]) == world.cluster
    assert json.loads(texts["POLICY.json"]) == world.policy


@quick
@given(worlds.worlds(faults=False, teams=False))
def test_no_jobs_wait_for_each_other_and_what_is_not_wanted_is_left_out(world: World) -> None:
    jobs = reading.jobs(world.jobs)
    assert len(jobs) == len(world.jobs)
    assert all(jobs[other].row < job.row for job in jobs.values() for other in job.after)
    assert not world.faults
    assert "teams" not in world.cluster
