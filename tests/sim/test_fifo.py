"""First come, first served: who goes first, where a job is put, and what can never run."""

from typing import Any

import pytest

from scheduler.sim.workload import Ask, Machine
from tests.sim.stage import ask, nodes, play


def places(asks: list[Ask], machines: tuple[Machine, ...]) -> dict[str, dict[str, int]]:
    """By job: how many GPUs of which nodes it got."""
    return {
        line["job"]: {seat["node"]: len(seat["gpus"]) for seat in line["seats"]}
        for line in play(asks, machines).lines("start")
    }


def test_nobody_overtakes_a_head_that_waits() -> None:
    played = play([ask("a", 6), ask("b", 8, submit=1), ask("c", 1, submit=2)])
    assert played.starts() == {"a": 0, "b": 100, "c": 200}


def test_each_named_pool_has_a_queue_of_its_own() -> None:
    machines = (*nodes(1, pool="train"), *nodes(2, pool="dev")[1:])
    asks = [
        *(ask("a", 4, pool="train"), ask("b", 4, pool="train"), ask("c", 4, submit=1, pool="dev")),
        ask("d", 2, submit=2, pool="train"),
    ]
    assert play(asks, machines).starts() == {"a": 0, "b": 100, "c": 1, "d": 200}


def test_jobs_without_a_pool_have_a_queue_over_all_nodes_and_the_older_head_goes_first() -> None:
    machines = (*nodes(1, pool="train"), *nodes(2, pool="dev")[1:])
    asks = [
        *(ask("a", 4, pool="train"), ask("b", 8), ask("c", 4, submit=1, pool="dev")),
        *(ask("d", 4, submit=2), ask("e", 4, submit=100, pool="train")),
    ]
    # b needs both pools; the pools' own queues are not held back by it, and at 101 s nothing is left for it.
    assert play(asks, machines).starts() == {"a": 0, "c": 1, "e": 100, "b": 200, "d": 300}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([3, 1, 1], {"j0": {"n1": 3}, "j1": {"n1": 1}, "j2": {"n2": 1}}, id="small ones fill up"),
        pytest.param(
            [2, 3, 2], {"j0": {"n1": 2}, "j1": {"n2": 3}, "j2": {"n1": 2}}, id="the fullest that fits"
        ),
        pytest.param([4, 2], {"j0": {"n1": 4}, "j1": {"n2": 2}}, id="a whole node is one node"),
        pytest.param([8], {"j0": {"n1": 4, "n2": 4}}, id="a larger one takes whole nodes"),
        pytest.param(
            [1, 6], {"j0": {"n1": 1}, "j1": {"n2": 4, "n3": 2}}, id="the rest goes to the freest other"
        ),
        pytest.param([9], {"j0": {"n1": 4, "n2": 4, "n3": 1}}, id="lowest name first"),
    ],
)
def test_where_a_job_goes(sizes: list[int], expected: dict[str, dict[str, int]]) -> None:
    asks = [ask(f"j{number}", size) for number, size in enumerate(sizes)]
    assert places(asks, nodes(4)) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"gpus": 4, "nodes": 2, "gpus_per_node": 2}, {"n1": 2, "n2": 2}, id="an exact shape"),
        pytest.param({"gpus": 2, "gpu_types": ("H100",)}, {"n3": 2}, id="the type it asks for"),
        pytest.param({"gpus": 2, "gpu_types": ("H100", "A100")}, {"n3": 2}, id="the type it prefers"),
        pytest.param({"gpus": 8, "gpu_types": ("H100", "A100")}, {"n3": 4, "n4": 4}, id="all of one type"),
        pytest.param({"gpus": 6, "level": "rack", "required": True}, {"n1": 4, "n2": 2}, id="one rack"),
        pytest.param({"gpus": 2, "features": frozenset({"ib"})}, {"n4": 2}, id="a feature"),
        pytest.param({"gpus": 2, "gpu_memory_gib": 80.0}, {"n3": 2}, id="enough GPU memory"),
        pytest.param({"gpus": 4, "tp": 4}, {"n3": 4}, id="a group in one NVLink domain"),
        pytest.param({"gpus": 4, "cpus_per_gpu": 4.0}, {"n3": 4}, id="enough CPUs"),
        pytest.param({"gpus": 2, "spot_share": 0.0}, {"n2": 2}, id="off spot nodes"),
        pytest.param({"gpus": 12, "min_gpus": 6}, {"n1": 4, "n2": 4}, id="an elastic job as large as can be"),
    ],
)
def test_constraints_are_respected(wanted: dict[str, Any], expected: dict[str, int]) -> None:
    old = {"gpu_type": "A100", "gpu_memory_gib": 40.0, "rack": "r1", "cpus": 8.0, "nvlink_domain": 2}
    new = {"gpu_type": "H100", "gpu_memory_gib": 80.0, "rack": "r2"}
    machines = (
        *nodes(1, spot=True, **old),
        *nodes(2, **old)[1:],
        *nodes(3, **new)[2:],
        *nodes(4, **(new | {"features": frozenset({"ib"})}))[3:],
    )
    assert places([ask("a", **wanted)], machines) == {"a": expected}


def test_cpus_and_memory_run_out_like_gpus_and_come_back() -> None:
    asks = [ask(name, 1, at, cpus_per_gpu=4.0, memory_gib_per_gpu=1.0) for at, name in enumerate("abcd")]
    for little in ({"cpus": 8.0, "memory_gib": 9.0}, {"cpus": 99.0, "memory_gib": 2.5}):
        assert play(asks, nodes(1, **little)).starts() == {"a": 0, "b": 1, "c": 100, "d": 101}


def test_the_lowest_name_is_first_wherever_it_stands_in_the_file() -> None:
    assert places([ask("a", 1), ask("b", 8)], nodes(3)[::-1]) == {"a": {"n1": 1}, "b": {"n2": 4, "n3": 4}}


def test_nodes_of_unequal_sizes_hold_a_gang_in_pieces_where_nothing_tidier_does() -> None:
    machines = (Machine("n1", gpus=4, spot=True), Machine("n2", gpus=2, spot=False), Machine("n3", gpus=1))
    assert places([ask("a", 3, spot_share=0.5)], machines) == {"a": {"n2": 2, "n3": 1}}


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            {"gpus": 5, "level": "node", "required": True},
            "needs 5 GPUs in one node; the largest node has 4",
        ),
        (
            {"gpus": 10, "nodes": 2, "gpus_per_node": 5},
            "needs 5 GPUs in one node; the largest node has 4",
        ),
        (
            {"gpus": 12, "nodes": 3, "gpus_per_node": 4},
            "needs 3 nodes with 4 GPUs each; there are 2",
        ),
        (
            {"gpus": 9},
            "needs 9 GPUs in the cluster; there are at most 8 of one type that it accepts",
        ),
        (
            {"gpus": 6, "level": "rack", "required": True},
            "needs 6 GPUs in one rack; there are at most 4 of one type that it accepts",
        ),
        ({"gpus": 4, "tp": 4}, "needs 4 GPUs in one NVLink domain; the largest has 2"),
        ({"gpus": 1, "pool": "gold"}, "needs the pool gold; there is none of this name"),
        ({"gpus": 1, "gpu_types": ("B200", "H200")}, "needs B200 or H200 GPUs; there are GPU"),
        ({"gpus": 1, "features": frozenset({"ib"})}, "needs nodes with ib; there are none"),
        (
            {"gpus": 1, "gpu_memory_gib": 80.0},
            "needs GPUs with 80 GiB of memory; the largest have 40 GiB",
        ),
        (
            {"gpus": 4, "nodes": 2, "gpus_per_node": 2, "level": "node", "required": True},
            "asks for 2 nodes and to sit in one node; leave out one of the two",
        ),
        (
            {"gpus": 4, "cpus_per_gpu": 9.0, "level": "node", "required": True},
            "needs 4 GPUs in one node with CPUs, memory and NVLink; the largest node has them for 0",
        ),
    ],
)
def test_what_no_empty_cluster_holds_is_impossible_at_once_with_a_sentence(
    wanted: dict[str, Any], why: str
) -> None:
    machines = tuple(
        Machine(name, gpus=4, nvlink_domain=2, rack=rack, gpu_memory_gib=40.0, cpus=8.0)
        for name, rack in (("n1", "r1"), ("n2", "r2"))
    )
    played = play([ask("a", submit=5.0, **wanted), ask("b", 1, submit=5.0)], machines)
    assert played.lines("impossible") == [{"t": 5.0, "event": "impossible", "job": "a", "why": why}]
    assert played.starts() == {"b": 5.0}


def test_an_estimate_is_now_where_the_job_starts_now_and_later_where_it_waits() -> None:
    asks = [
        ask("a", 8, limit_s=100.0),
        ask("b", 8, submit=10, limit_s=100.0),
        ask("c", 8, submit=20, limit_s=100.0),
    ]
    told = {line["job"]: (line["p50_s"], line["p90_s"]) for line in play(asks).lines("estimate")}
    assert told["a"] == (0.0, 0.0)
    assert told["b"] == (
        10.0 + 90.0,
        10.0 + 180.0,
    )  # what runs ahead of it, and twice that while nothing is known
    assert told["c"] == (20.0 + 180.0, 20.0 + 360.0)
