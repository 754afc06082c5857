"""What a waiting job is told: the snapshot as a picture, the sentence as people read it."""

import pytest

from scheduler.core.explain import sentence
from scheduler.core.model import Job, Snapshot, Tier
from scheduler.core.planner import plan
from tests.core.builders import job, run, snapshot, spot, tree

FULL, EMPTY = "xxxxxxxx", "........"
UNKNOWN = "The limits of the running jobs do not say when room comes free."
ORG = tree(("org", None, {"H100": 16}), ("vision", "org", {"H100": 8}), ("depth", "vision", {}))


def told(snap: Snapshot, number: int) -> str:
    (verdict,) = [verdict for verdict in plan(snap).verdicts if verdict.job == number]
    return sentence(verdict.reason, verdict.numbers)


CASES: dict[str, tuple[Snapshot, str]] = {
    "more GPUs in one node than any node has": (
        snapshot([spot("n1"), spot("n2", why_not="lost")], [job(1, "1x16", "")]),
        "This can never run here: it needs 16 GPUs in one node and the largest node has 8.",
    ),
    "a slot without a GPU is no GPU": (
        snapshot([spot("n1", "x......x", links="-000000-")], [job(1, "1x7")]),
        "This can never run here: it needs 7 H100 in one node and the largest node has 6.",
    ),
    "the same for one type, although another type has such nodes": (
        snapshot([spot("n1", "...."), spot("n2", gpu_type="A100")], [job(1, "2x8")]),
        "This can never run here: it needs 8 H100 in one node and the largest node has 4.",
    ),
    "more nodes than there are, and nodes of other clusters do not help": (
        snapshot([spot("n1"), spot("n2", cluster="south"), spot("n3", why_not="pending")], [job(1, "2x8")]),
        "This can never run here: it needs 2 nodes with 8 H100 each and no cluster has more than 1 of them.",
    ),
    "a type that is not here": (
        snapshot([spot("n1"), spot("n2", gpu_type="A100")], [job(1, "1x1", "B200")]),
        "This can never run here: it asks for B200 and there is only A100 and H100.",
    ),
    "no node at all": (snapshot([], [job(1)]), "This can never run here: no node is approved yet."),
    "more than a team above may ever hold": (
        snapshot([spot("n1"), spot("n2")], [job(1, "2x8", team="depth")], teams=ORG),
        "This can never run here: it needs 16 H100 and team vision may hold at most 8 at once.",
    ),
    "no quota for the type": (
        snapshot([spot("n1")], [job(1, "1x1")], teams=tree(("vision", None, {"H100": 0}))),
        "This can never run here: team vision has no quota for H100.",
    ),
    "the team's quota is in use": (
        snapshot([spot("n1", "xxxxxx.."), spot("n2")], [job(1, "1x4")], [run(7, [1], 6, 50)], ORG),
        "Team vision holds 6 of its 8 H100 and this job needs 4. "
        "Enough come free in about 50 min at the latest, when job 7 ends.",
    ),
    "the quota of the team above is in use, without a limit in sight": (
        snapshot([spot("n1", FULL), spot("n2")], [job(1, "1x1", team="depth")], [run(7, [1], 8)], ORG),
        "Team vision, which depth belongs to, holds 8 of its 8 H100 and this job needs 1. "
        "The limits of its running jobs do not say when enough come free.",
    ),
    "a drained node would be enough": (
        snapshot([spot("n1", FULL), spot("n2", why_not="drained")], [job(1)]),
        "1 node is out of service (drained). With it your job would fit.",
    ),
    "several nodes are out, and a limit says when it goes without them": (
        snapshot(
            [spot("n1", FULL), spot("n2", why_not="drained"), spot("n3", why_not="silent")],
            [job(1), job(2)],
            [run(7, [1], 8, 180)],
        ),
        "2 nodes are out of service (1 drained and 1 silent). With them your job would fit; "
        "without them room comes free in about 3 h at the latest, when job 7 ends.",
    ),
    "the pool is full and a limit says when room comes free": (
        snapshot([spot("n1", FULL), spot("n2", "xxxxx...")], [job(1)], [run(4711, [1], 8, 40)]),
        "The training pool is full: it needs 8 H100, 3 are free. "
        "Room for it comes free in about 40 min at the latest, when job 4711 ends.",
    ),
    "a node is out for a reason nobody has named": (
        snapshot([spot("n1", FULL), spot("n2", why_not="on fire")], [job(1)]),
        "1 node is out of service (down). With it your job would fit.",
    ),
    "the pool is full and nobody knows": (
        snapshot([spot("n1", "xxxxxxx.")], [job(1, "1x2")]),
        f"The training pool is full: it needs 2 H100, 1 is free. {UNKNOWN}",
    ),
    "a limit that lies too far ahead is no answer": (
        snapshot([spot("n1", FULL)], [job(1)], [run(7, [1], 8, 31 * 24 * 60)]),
        f"The training pool is full: it needs 8 H100, none is free. {UNKNOWN}",
    ),
    "two pools of one cluster": (
        snapshot([spot("n1", FULL), spot("n2", FULL, pool="research")], [job(1)]),
        f"The cluster north is full: it needs 8 H100, none is free. {UNKNOWN}",
    ),
    "two clusters, each too full": (
        snapshot([spot("n1", "xxxx...."), spot("n2", "xxx.....", cluster="south")], [job(1)]),
        f"Both clusters are full: it needs 8 H100 in one, none has more than 5 free. {UNKNOWN}",
    ),
    "any type would do": (
        snapshot([spot("n1", "xxxx...."), spot("n2", "xxx.....", gpu_type="A100")], [job(1, "1x8", "")]),
        f"No GPU type has room: it needs 8 of one type, at most 5 (A100) are free. {UNKNOWN}",
    ),
    "enough free, but not in one node": (
        snapshot([spot("n1", "xxxx...."), spot("n2", "xxxx....")], [job(1)], [run(9, [2], 4, 150)]),
        "8 H100 are free, but at most 4 in one node and your job asks for 8 in one node. "
        "Room for it comes free in about 2 h 30 min at the latest, when job 9 ends.",
    ),
    "enough free, but not in enough nodes": (
        snapshot([spot("n1"), spot("n2", "xxxx...."), spot("n3", "xxxx....")], [job(1, "2x8")]),
        "16 H100 are free, but only 1 node has 8 of them and your job asks for 2 such nodes. " + UNKNOWN,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_job_is_told(case: str) -> None:
    snap, want = CASES[case]
    assert told(snap, 1) == want


def test_jobs_ahead_that_start_now_are_named_as_order() -> None:
    snap = snapshot([spot("n1")], [job(1), job(2, tier=Tier.PRODUCTION)])
    assert told(snap, 1) == (
        "It would fit, but 1 job asking for 8 GPUs is ahead and takes the place: "
        "it has a higher tier or came earlier."
    )


def test_with_jobs_ahead_the_room_is_not_promised() -> None:
    waiting = [job(1), job(2), job(3)]
    snap = snapshot([spot("n1", FULL)], waiting, [run(7, [1], 8, 40)])
    end = "Room for it comes free in about 40 min at the latest, when job 7 ends"
    assert [told(snap, number).split(". ")[1] for number in (1, 2, 3)] == [
        f"{end}.",
        f"{end}, unless the job ahead takes it.",
        f"{end}, unless one of the 2 jobs ahead takes it.",
    ]


def test_only_as_many_jobs_as_the_lost_nodes_would_hold_blame_them() -> None:
    spots = [spot("n1", FULL), spot("n2", why_not="lost")]
    reasons = [str(verdict.reason) for verdict in plan(snapshot(spots, [job(1), job(2)])).verdicts]
    assert reasons == ["capacity_down", "full"]


def test_a_big_job_at_the_head_does_not_stop_smaller_ones_behind_it() -> None:
    snap = snapshot([spot("n1"), spot("n2", FULL)], [job(1, "2x8"), job(2, "1x8")])
    assert [start.job for start in plan(snap).starts] == [2]


def test_a_team_at_its_limit_does_not_stop_other_teams() -> None:
    teams = tree(("vision", None, {"H100": 0}), ("speech", None, {}))
    snap = snapshot([spot("n1")], [job(1), job(2, team="speech")], teams=teams)
    assert [start.job for start in plan(snap).starts] == [2]


def ordered(*jobs: Job) -> list[int]:
    return [start.job for start in plan(snapshot([spot("n1"), spot("n2")], jobs)).starts]


def test_a_higher_tier_goes_first_then_who_came_first_then_the_lower_number() -> None:
    early, late = job(1).submitted_at, job(9).submitted_at
    assert ordered(
        job(4, "1x1", submitted_at=late),
        job(3, "1x1", submitted_at=early),
        job(2, "1x1", submitted_at=early),
        job(5, "1x1", tier=Tier.PRODUCTION, submitted_at=late),
        job(1, "1x1", tier=Tier.OPPORTUNISTIC, submitted_at=early),
    ) == [5, 2, 3, 4, 1]
