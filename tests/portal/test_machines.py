"""Machines: approving what they report, draining and resuming, and readings that make no sense."""

from typing import Any

import pytest

from portal.agents.hearing import hear
from portal.cluster import actions
from portal.cluster.models import Gpu, Node
from portal.errors import Conflict, Refusal
from portal.jobs.queries import cost
from portal.journal.models import Entry
from portal.telemetry.actions import KEPT, sweep
from portal.telemetry.models import Reading
from scheduler.wire import GpuSeen, digest
from tests.portal.stage import Stage, hardware, phase


def report(stage: Stage, name: str, told: dict[str, Any]) -> Node:
    """A node that joins again with another inventory."""
    Node.objects.filter(name=name).update(hardware_reported=told)
    return Node.objects.get(name=name)


def test_approving_makes_the_inventory_what_was_reported(stage: Stage) -> None:
    stage.add_nodes("n1", gpus=4)
    node = Node.objects.get()
    assert (node.gpu_type, node.cpus, node.rack, node.approved_at) == ("H100", 96, "r1", stage.now)
    assert node.hardware_digest == digest(hardware("n1", 4))
    assert not node.hardware_changed
    assert list(node.gpus.values_list("slot", "nvlink_domain")) == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_a_replaced_gpu_retires_the_old_one_and_keeps_its_bills(stage: Stage) -> None:
    stage.add_nodes("n1", gpus=2)
    job = stage.submit(gpus_per_node=2)
    run = stage.running(job)
    stage.agents["n1"].end(run)
    stage.later(60)
    stage.beat()
    before = cost(job, now=stage.now)
    told = hardware("n1", 2)
    told["gpus"][1]["uuid"] = "GPU-new"
    actions.approve(node=report(stage, "n1", told), by=stage.people["noor"], now=stage.later())
    assert list(Gpu.objects.filter(retired_at=None).values_list("uuid", flat=True)) == ["GPU-n1-0", "GPU-new"]
    assert Gpu.objects.get(uuid="GPU-n1-1").retired_at == stage.now
    assert cost(job, now=stage.now) == before


def test_nothing_is_placed_on_a_gpu_that_its_node_no_longer_reports(stage: Stage) -> None:
    stage.add_nodes("n1", gpus=2)
    told = hardware("n1", 2)
    told["gpus"][1]["uuid"] = "GPU-new"
    report(stage, "n1", told)
    stage.agents["n1"].hardware = digest(told)
    stage.beat()
    both, one = stage.submit(gpus_per_node=2), stage.submit()
    stage.turn()
    assert (phase(both), phase(one)) == ("waiting", "starting")
    actions.approve(node=Node.objects.get(), by=stage.people["noor"], now=stage.now)
    stage.agents["n1"].start(stage.live_run(one))
    stage.agents["n1"].end(stage.live_run(one))
    stage.later()
    stage.beat()
    stage.turn()
    assert phase(both) == "starting"


def test_gpus_that_swapped_their_slots_are_taken_in(stage: Stage) -> None:
    stage.add_nodes("n1", gpus=2)
    told = hardware("n1", 2)
    told["gpus"][0]["slot"], told["gpus"][1]["slot"] = 1, 0
    actions.approve(node=report(stage, "n1", told), by=None, now=stage.later())
    assert dict(Gpu.objects.filter(retired_at=None).values_list("uuid", "slot")) == {
        "GPU-n1-0": 1,
        "GPU-n1-1": 0,
    }


def test_another_type_under_the_same_name_would_change_old_bills_and_is_refused(stage: Stage) -> None:
    stage.add_nodes("n1", gpus=2)
    told = hardware("n1", 2, kind="B200")
    with pytest.raises(Conflict, match="let it join under another name"):
        actions.approve(node=report(stage, "n1", told), by=None, now=stage.later())
    assert Node.objects.get().gpu_type == "H100"
    actions.approve(node=report(stage, "n1", told | {"gpus": []}), by=None, now=stage.later())
    assert Node.objects.get().gpu_type == "H100"


@pytest.mark.parametrize(
    ("change", "words"),
    [({"uuid": "GPU-n2-0"}, "same uuid"), ({"slot": 0}, "same slot"), ({"type": "B200"}, "of one type")],
)
def test_an_inventory_that_contradicts_itself_is_refused(
    stage: Stage, change: dict[str, Any], words: str
) -> None:
    told = hardware("n2", 2)
    told["gpus"][1] |= change
    node = Node.objects.create(
        pool=stage.pool(), name="n2", gpu_type="unknown", claim_digest="0" * 64, hardware_reported=told
    )
    with pytest.raises(Refusal, match=words):
        actions.approve(node=node, by=None, now=stage.now)
    assert Node.objects.get().approved_at is None
    assert not Gpu.objects.exists()


def test_a_gpu_cannot_be_in_two_nodes(stage: Stage) -> None:
    stage.add_nodes("n1", "n2", gpus=1)
    told = hardware("n2", 1)
    told["gpus"][0]["uuid"] = "GPU-n1-0"
    with pytest.raises(Conflict, match="n2 reports GPU-n1-0, which is GPU 0 of n1"):
        actions.approve(node=report(stage, "n2", told), by=None, now=stage.now)


def test_a_changed_inventory_in_beats_is_told_once_and_shown(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.agents["n1"].hardware = "f" * 64
    for _ in range(3):
        stage.later()
        stage.beat()
    assert Node.objects.get().hardware_changed
    assert Entry.objects.filter(kind="node", verb="hardware").count() == 1


def test_a_drained_node_gets_nothing_new_and_keeps_what_it_has_until_resumed(stage: Stage) -> None:
    stage.add_nodes("n1")
    running = stage.submit()
    stage.running(running)
    noor, node = stage.people["noor"], Node.objects.get()
    actions.drain(node=node, by=noor, reason=" new fan ", now=stage.now)
    actions.drain(node=node, by=noor, reason="again", now=stage.now)
    waiting = stage.submit()
    stage.turn()
    assert (phase(running), phase(waiting)) == ("running", "waiting")
    waiting.refresh_from_db()
    assert waiting.reason == "capacity_down"
    assert Node.objects.get().drain_reason == "new fan"
    actions.resume(node=node, by=noor, now=stage.now)
    actions.resume(node=node, by=noor, now=stage.now)
    stage.turn()
    assert phase(waiting) == "starting"
    told = Entry.objects.filter(kind="node", verb__in=["drained", "resumed"]).order_by("id")
    assert [entry.sentence for entry in told] == [
        "n1 drained by Noor Haddad: new fan", "n1 resumed by Noor Haddad",
    ]  # fmt: skip


def test_draining_takes_a_reason(stage: Stage) -> None:
    stage.add_nodes("n1")
    with pytest.raises(Refusal, match="Say why"):
        actions.drain(node=Node.objects.get(), by=stage.people["noor"], reason=" ", now=stage.now)


def test_a_lost_node_stays_drained_when_it_returns(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    actions.drain(node=Node.objects.get(name="n1"), by=stage.people["noor"], reason="fan", now=stage.now)
    stage.pass_time(65, silent=["n1"])
    stage.turn()
    assert Node.objects.get(name="n1").state(stage.now) == "lost"
    stage.beat()
    assert Node.objects.get(name="n1").state(stage.now) == "drained"


def test_readings_are_kept_every_ten_seconds_and_for_two_days(stage: Stage) -> None:
    stage.add_nodes("n1")
    for _ in range(10):
        stage.later(2)
        stage.beat()
    assert Reading.objects.values("at").distinct().count() == 3
    assert sweep(now=stage.now + KEPT - stage.now.resolution) == 16
    assert Reading.objects.count() == 8


def test_a_node_speaks_of_its_own_gpus_only(stage: Stage) -> None:
    stage.add_nodes("n1", "n2", gpus=1)
    stage.later(20)
    false = (GpuSeen("GPU-n2-0", 0, 7.0, 7, 7.0, 7.0),)
    batch = [stage.agents["n1"].beat(stage.now, gpus=false), stage.agents["n2"].beat(stage.now)]
    assert len(hear(batch, now=stage.now)) == 2
    latest = Reading.objects.filter(at=stage.now)
    assert list(latest.values_list("gpu__uuid", "memory_used_mib")) == [("GPU-n2-0", 1024)]


def test_a_reading_that_no_column_can_hold_spoils_nobody_elses(stage: Stage) -> None:
    """A GPU that says it uses four petabytes; its neighbours in the batch are written and answered."""
    stage.add_nodes("n1", "n2", gpus=1)
    stage.later(20)
    mad = (GpuSeen("GPU-n1-0", 0, 50.0, 2**32, 1000.0, 99_999.0),)
    batch = [stage.agents["n1"].beat(stage.now, gpus=mad), stage.agents["n2"].beat(stage.now)]
    assert len(hear(batch, now=stage.now)) == 2
    latest = Reading.objects.filter(at=stage.now)
    assert dict(latest.values_list("gpu__uuid", "memory_used_mib")) == {"GPU-n1-0": None, "GPU-n2-0": 1024}
