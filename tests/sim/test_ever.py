"""Tests of scheduler.sim.thinkers.ever: the sentence for a job that can never run names what stands in its way."""

from typing import Any

import pytest

from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.sim.thinkers.ever import Ever
from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.workload import Ask, Cluster, Crew, Machine, Share
from scheduler.sim.world import World
from tests.sim.stage import ask, nodes

CREWS = (Crew("A", quota={"GPU": Share(8)}), Crew("B", quota={"GPU": Share(0)}))
NOT_BACK = "needs 2 GPU; team B may hold at most 0 without a loan, and this one would not be back within"
OUTSIDE = ", outside the pools kept for production"
TRAIN = (
    *nodes(2, pool="train", features=frozenset({"ib"}), gpu_memory_gib=80.0),
    Machine("open", gpus=2, nvlink_domain=2, gpu_memory_gib=40.0),
    Machine("other", gpu_type="H100", pool="train"),
)
KEPT = "is a standard job; every node that would do is in a pool kept for production"


def why_not(asked: Ask, policy: dict[str, Any], cluster: Cluster) -> str:
    world = World(cluster, [asked], Policy.of(policy))
    return Ever(world).why_not(Snapshots(world).lineup.portray(world, 0))


@pytest.mark.parametrize(
    ("policy", "more", "within"),
    [
        ({"max_preemptions_per_day": 0}, {}, "3600 s"),
        ({"return_promise_s": 1}, {}, "1 s"),
        ({"min_runtime_s": 1e9}, {"limit_s": 7200.0}, "3600 s"),
        ({}, {"tier": Tier.PRODUCTION, "preemptible": False}, "3600 s"),
    ],
    ids=["nobody may stop it", "no time to come back", "both too long", "it may not be stopped"],
)
def test_a_loan_that_would_never_be_back_is_named(
    policy: dict[str, Any], more: dict[str, Any], within: str
) -> None:
    asked = ask("b", 2, team="B", **more)
    assert why_not(asked, policy, Cluster(nodes(2), CREWS)) == f"{NOT_BACK} {within}"


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "by its name": ({"pool": "train"}, KEPT),
    "by its type": ({"gpu_types": ("H100",)}, KEPT),
    "too few GPUs": (
        {"gpus": 6},
        f"needs 6 GPUs in the cluster; there are at most 2 of one type that it accepts{OUTSIDE}",
    ),
    "too few nodes": (
        {"gpus": 4, "nodes": 2, "gpus_per_node": 2},
        f"needs 2 nodes with 2 GPUs each; there are 1{OUTSIDE}",
    ),
    "too small nodes": (
        {"gpus": 4, "level": "node", "required": True},
        f"needs 4 GPUs in one node; the largest node has 2{OUTSIDE}",
    ),
    "too small domains": ({"tp": 4}, f"needs 4 GPUs in one NVLink domain; the largest has 2{OUTSIDE}"),
    "features": ({"features": frozenset({"ib"})}, f"needs nodes with ib; there are none{OUTSIDE}"),
    "memory": (
        {"gpu_memory_gib": 80.0, "gpu_types": ("GPU",)},
        f"needs GPUs with 80 GiB of memory; the largest have 40 GiB{OUTSIDE}",
    ),
    "more than there is anywhere": (
        {"gpus": 99},
        "needs 99 GPUs in the cluster; there are at most 10 of one type that it accepts",
    ),
}


@pytest.mark.parametrize(("more", "why"), PLACES.values(), ids=PLACES)
def test_pools_that_are_kept_for_production_are_named(more: dict[str, Any], why: str) -> None:
    asked = ask("a", **{"gpus": 4, **more})
    assert why_not(asked, {"production_pools": ["train"]}, Cluster(TRAIN)) == why


def test_everything_kept_for_production_is_open_to_it() -> None:
    cluster, policy = Cluster(nodes(2, pool="train")), {"production_pools": ["train"]}
    assert why_not(ask("a"), policy, cluster) == KEPT
    assert why_not(ask("a", tier=Tier.PRODUCTION), policy, cluster) == ""


def test_too_few_nodes_that_stay_are_named() -> None:
    why = "may have at most 4 of its 8 GPUs on spot nodes; there are too few others"
    assert why_not(ask("a", 8, spot_share=0.5), {}, Cluster(nodes(2, spot=True))) == why
