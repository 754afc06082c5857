"""What can never run here is told at once: which wish nothing can meet, and how to mend it."""

from dataclasses import replace

import pytest
from hypothesis import given

from scheduler.core.explain import sentence
from scheduler.core.model import Share, Snapshot, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Peak, Policy
from scheduler.core.possible import impossible
from scheduler.core.reasons import Reason
from tests.core.builders import HOUR, job, racks, snapshot, spot, tree
from tests.core.worlds import quick, worlds

NEVER = "This can never run here: "
ORG = tree(
    ("org", None, {"H100": Share(16, 0)}), ("vision", "org", {"H100": Share(8, 0)}), ("depth", "vision", {})
)
HALVES = "00001111"
CASES: dict[str, tuple[Snapshot, str]] = {
    "more GPUs in one node than any node has": (
        snapshot([spot("n1"), spot("n2", why_not="lost")], [job(1, "1x16", "")]),
        "it needs 16 GPUs in one node and the largest node has 8. Ask for at most 8 on each node.",
    ),
    "a slot without a GPU is no GPU": (
        snapshot([spot("n1", "x......x", links="-000000-")], [job(1, "1x7")]),
        "it needs 7 H100 in one node and the largest node has 6. Ask for at most 6 on each node.",
    ),
    "the same for one type, although another type has such nodes": (
        snapshot([spot("n1", "...."), spot("n2", gpu_type="A100")], [job(1, "2x8")]),
        "it needs 8 H100 in one node and the largest node has 4. Ask for at most 4 on each node.",
    ),
    "a free shape that must stay on one node": (
        snapshot([spot("n1"), spot("n2")], [job(1, "12", level="node", required=True)]),
        "it needs 12 H100 in one node and the largest node has 8. Ask for at most 8 on each node.",
    ),
    "more nodes than there are, and nodes of other clusters do not help": (
        snapshot([spot("n1"), spot("n2", cluster="south"), spot("n3", why_not="pending")], [job(1, "2x8")]),
        "it needs 2 nodes with 8 H100 each and no cluster has more than 1 of them. Ask for at most 1.",
    ),
    "more GPUs than there are": (
        snapshot([spot("n1"), spot("n2", why_not="drained")], [job(1, "17")]),
        "it needs 17 H100 and no cluster has more than 16. Ask for at most 16.",
    ),
    "a type that is not here": (
        snapshot([spot("n1"), spot("n2", gpu_type="A100")], [job(1, "1x1", "B200")]),
        "it asks for B200 and there is only A100 and H100. Ask for one of these.",
    ),
    "no node at all": (
        snapshot([], [job(1)]),
        "no node is approved yet. An administrator can approve one.",
    ),
    "a pool without such GPUs": (
        snapshot([spot("n1"), spot("n2", pool="research")], [job(1, pool="edge")]),
        "no H100 is in the pool edge. Ask for one of research and training.",
    ),
    "any type, and there are only slices": (
        snapshot([spot("n1", gpu_type="A100-slice", sliced=True)], [job(1, "1", "")]),
        "it asks for any whole GPU and there is only A100-slice. Ask for one of these.",
    ),
    "a pool without such GPUs, and all others are kept": (
        snapshot([spot("n1")], [job(1, pool="edge")], policy=Policy(production_pools=("training",))),
        "no H100 is in the pool edge, and every other pool is kept for production. "
        "Ask for another type, or in another pool for the production tier.",
    ),
    "a feature that no node has": (
        snapshot([spot("n1")], [job(1, features=frozenset({"ib"}))]),
        "no node with H100 has the feature ib. Ask without, or an administrator can add such a node.",
    ),
    "features that no node has together": (
        snapshot(
            [spot("n1", features=frozenset({"ib"})), spot("n2", features=frozenset({"nvme"}))],
            [job(1, "1", "", features=frozenset({"nvme", "ib"}))],
        ),
        "no node has all of the features ib and nvme. Ask without, or an administrator can add such a node.",
    ),
    "more memory than any GPU has": (
        snapshot(
            [spot("n1", gpu_memory_gib=40.0), spot("n2", gpu_memory_gib=80.0)], [job(1, gpu_memory_gib=141.0)]
        ),
        "it needs 141 GiB of memory on each GPU and the largest has 80. Ask for at most 80 GiB.",
    ),
    "only spot nodes, and it takes none": (
        snapshot([spot("n1", spot=True)], [job(1, spot_share=0.0)]),
        "it takes no GPU on spot nodes and there are too few others. "
        "Allow more of them on spot nodes, or ask for fewer.",
    ),
    "too few nodes that are not spot nodes": (
        snapshot([spot("n1"), spot("n2", spot=True)], [job(1, "16", spot_share=0.25)]),
        "it takes at most 4 of its 16 GPUs on spot nodes and there are too few others. "
        "Allow more of them on spot nodes, or ask for fewer.",
    ),
    "only slices, in a pool that does not share": (
        snapshot([spot("n1", sliced=True)], [job(1)]),
        "H100 comes only in slices, which this job may not use. Ask for a type of whole GPUs.",
    ),
    "a tensor-parallel group that no NVLink domain holds": (
        snapshot([spot("n1", links=HALVES)], [job(1, tp=8)]),
        "a group of 8 GPUs must share NVLink and the largest NVLink domain has 4. Use groups of at most 4.",
    ),
    "tensor-parallel groups that do not come out even on a node": (
        snapshot([spot("n1", links="00011122"), spot("n2", links="00011122")], [job(1, "1x8", tp=2)]),
        "it needs 8 H100 in one node in whole groups of 2 that share NVLink and no node has more than 6 of those. "
        "Use smaller groups or more nodes.",
    ),
    "more CPUs than a node has for so many GPUs": (
        snapshot([spot("n1", cpus=32.0)], [job(1, cpus_per_gpu=8.0, memory_gib_per_gpu=4.0)]),
        "with its CPUs for each GPU a node gives at most 4 GPUs and it needs 8 in one node. "
        "Ask for less beside each GPU.",
    ),
    "a rack that is too small": (
        snapshot(racks(r1=["........"], r2=["........"]), [job(1, "16", level="rack", required=True)]),
        "it needs 16 H100 in one rack and the largest rack has 8. With 'rack preferred' it could run.",
    ),
    "a block with too few such nodes": (
        snapshot(
            racks(r1=["........"], r2=["...."], r3=["........"]),
            [job(1, "2x8", level="block", required=True)],
        ),
        "it needs 2 nodes with 8 H100 each in one block and no block has more than 1 of them. "
        "With 'block preferred' it could run.",
    ),
    "more than a team above may ever hold": (
        snapshot([spot("n1"), spot("n2")], [job(1, "2x8", team="depth")], teams=ORG),
        "it needs 16 H100 and team vision may hold at most 8 at once. "
        "Ask for at most 8, or a lead can raise the quota.",
    ),
    "no quota for the type": (
        snapshot([spot("n1")], [job(1, "1x1")], teams=tree(("vision", None, {"H100": Share(0, 0)}))),
        "team vision has no quota for H100. A lead can give it some.",
    ),
    "work that may not be stopped cannot borrow": (
        snapshot(
            [spot("n1")],
            [job(1, "8", preemptible=False)],
            teams=tree(("vision", None, {"H100": 4}), ("speech", None, {"H100": 4})),
        ),
        "team vision has 4 H100 of its own, it needs 8, and it may not be stopped within the 1 h of a loan. "
        "With a limit of at most 1 h it could borrow.",
    ),
}
DAY_LONG = Policy(max_duration_s=dict.fromkeys(("production", "standard", "opportunistic"), 24 * HOUR))
FORBIDDEN: dict[str, tuple[Policy, dict[str, object], str]] = {
    "a limit over the longest": (
        DAY_LONG,
        {"limit_s": 48 * HOUR},
        "its limit of 2 d is longer than the 1 d that standard jobs may have. Ask for a limit of at most 1 d.",
    ),
    "a pool of production": (
        Policy(production_pools=("training",)),
        {"pool": "training"},
        "every node that would do is kept for production and this is a standard job. "
        "Ask for another type or for the production tier.",
    ),
    "a tier without jobs": (
        Policy(max_jobs_per_user={"production": 1.0, "standard": 0.0, "opportunistic": 1.0}),
        {},
        "the policy lets nobody run standard jobs. Ask for another tier.",
    ),
    "a size that is never let in": (
        Policy(peaks=(Peak(0, 24, 8, weekdays=tuple(range(7))),)),
        {},
        "standard jobs of 8 GPUs and more are let in at no hour and it asks for 8. Ask for fewer than 8.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_nothing_can_meet_is_named_at_once_and_by_the_plan(case: str) -> None:
    snap, want = CASES[case]
    (job,) = snap.waiting
    refusal = impossible(job, snap)
    assert refusal is not None
    assert sentence(refusal.reason, refusal.numbers) == NEVER + want
    assert plan(snap).verdicts == (refusal,)


@pytest.mark.parametrize("case", FORBIDDEN)
def test_what_the_policy_never_allows_is_named_too(case: str) -> None:
    policy, asked, want = FORBIDDEN[case]
    snap = snapshot([spot("n1")], [job(1, **asked)], policy=policy)
    (verdict,) = plan(snap).verdicts
    assert sentence(verdict.reason, verdict.numbers) == NEVER + want


def test_the_production_pool_beside_others_is_told_as_such() -> None:
    spots = [spot("n1", pool="reserved"), spot("n2")]
    snap = snapshot(spots, [job(1, pool="reserved")], policy=Policy(production_pools=("reserved",)))
    (verdict,) = plan(snap).verdicts
    assert "kept for production and this is a standard job" in sentence(verdict.reason, verdict.numbers)
    production = replace(snap, waiting=(replace(snap.waiting[0], tier=Tier.PRODUCTION),))
    assert [start.job for start in plan(production).starts] == [1]


def test_a_smaller_size_of_an_elastic_job_may_be_possible() -> None:
    spots = [spot("n1"), spot("n2")]
    assert impossible(job(1, "32", min_gpus=16), snapshot(spots)) is None
    assert impossible(job(1, "32", min_gpus=24), snapshot(spots)) is not None


def test_a_limit_that_a_lender_can_wait_for_makes_firm_work_possible() -> None:
    teams = tree(("vision", None, {"H100": 4}), ("speech", None, {"H100": 4}))
    snap = snapshot([spot("n1")], teams=teams)
    assert impossible(job(1, "8", preemptible=False, limit_s=HOUR), snap) is None
    assert impossible(job(1, "8", preemptible=False, limit_s=HOUR + 1), snap) is not None


@quick
@given(worlds())
def test_the_door_refuses_with_the_same_numbers_as_the_plan(snap: Snapshot) -> None:
    verdicts = {verdict.job: verdict for verdict in plan(snap).verdicts}
    for waiting in snap.waiting:
        refusal, verdict = impossible(waiting, snap), verdicts.get(waiting.id)
        if verdict is not None and verdict.reason == Reason.IMPOSSIBLE:
            assert refusal == verdict
        else:
            assert refusal is None


def test_what_was_stopped_often_today_waits_for_another_day_and_is_not_told_never() -> None:
    teams = tree(("vision", None, {"H100": 0}), ("speech", None, {"H100": 8}))
    often = job(1, stops=3, stops_today=3)
    snap = snapshot([spot("n1")], [often], teams=teams)
    assert impossible(often, snap) is None
    (verdict,) = plan(snap).verdicts
    assert (verdict.reason, verdict.numbers["why"]) == (Reason.NOTHING_TO_BORROW, "firm")
    assert plan(snapshot([spot("n1")], [replace(often, stops_today=0)], teams=teams)).starts
