"""What a waiting job is told: the snapshot as a picture, the sentence as people read it."""

import pytest

from scheduler.core.explain import sentence
from scheduler.core.model import Gate, Share, Snapshot, Window
from scheduler.core.planner import plan
from scheduler.core.policy import Peak, Policy
from scheduler.core.reasons import Reason
from tests.core.builders import HOUR, MINUTE, NOW, job, racks, run, seat, snapshot, spot, tree

FULL, EMPTY, HALF = "xxxxxxxx", "........", "xxxx...."
UNKNOWN = "The limits of the running jobs do not say when room comes free."
TWO = "The training pool is full: it needs 16 H100, 8 are free."
SOON = "in about 40 min at the latest, when job 7 ends."
LIMITS = tree(
    ("org", None, {"H100": Share(16, 0)}), ("vision", "org", {"H100": Share(8, 0)}), ("depth", "vision", {})
)
LENDERS = tree(("vision", None, {"H100": 8}), ("speech", None, {"H100": 8}))
OLD = {"submitted_at": NOW - HOUR}  # younger than what runs: nothing is recalled for it


def told(snap: Snapshot, number: int = 1) -> str:
    (verdict,) = [verdict for verdict in plan(snap).verdicts if verdict.job == number]
    return sentence(verdict.reason, verdict.numbers)


CASES: dict[str, tuple[Snapshot, str]] = {
    "the team's limit is reached": (
        snapshot(
            [spot("n1", "xxxxxx.."), spot("n2")], [job(1, "1x4")], [run(7, [seat(1, "012345")], 50)], LIMITS
        ),
        "Team vision holds 6 of its 8 H100 and this job needs 4. "
        "Enough come free in about 50 min at the latest, when job 7 ends.",
    ),
    "the limit of the team above is reached, without an end in sight": (
        snapshot([spot("n1", FULL), spot("n2")], [job(1, "1x1", team="depth")], [run(7, [seat(1)])], LIMITS),
        "Team vision, which depth belongs to, holds 8 of its 8 H100 and this job needs 1. "
        "The limits of its running jobs do not say when enough come free.",
    ),
    "with what it borrows the team is at its limit": (
        snapshot(
            [spot("n1", FULL), spot("n2")],
            [job(1, "1x4")],
            [run(7, [seat(1)], expected_end=NOW + 2 * HOUR)],
            tree(("vision", None, {"H100": Share(6, 4)}), ("speech", None, {"H100": 10})),
        ),
        "Team vision holds 8 of its 10 H100 (6 own + 2 borrowed) and this job needs 4. "
        "Enough should come free in about 2 h, when job 7 should end.",
    ),
    "nobody lends what it would have to borrow": (
        snapshot(
            [spot("n1", FULL), spot("n2")],
            [job(1)],
            [run(7, [seat(1)], 90)],
            tree(("vision", None, {"H100": 8}), ("speech", None, {"H100": Share(8, None, 0)})),
        ),
        "Team vision's own 8 H100 are in use and no team has enough idle quota to lend; "
        "enough come back in about 1 h 30 min at the latest, when job 7 ends.",
    ),
    "a team that nobody knows borrows, too": (
        snapshot(
            [spot("n1")],
            [job(1, team="guests")],
            teams=tree(("speech", None, {"H100": Share(8, None, 2)})),
        ),
        "This can never run here: it needs 8 H100 and team guests may hold at most 2 at once. "
        "Ask for at most 2, or a lead can raise the quota.",
    ),
    "a loan that would not be back in time": (
        snapshot(
            [spot("n1", HALF), spot("n2")],
            [job(1, "1x8", preemptible=False, limit_s=2 * HOUR)],
            [run(7, [seat(1, "0123")], preemptible=False)],
            LENDERS,
        ),
        "A loan must be back within 1 h, and this job may not be stopped so soon: it waits for 8 H100 of "
        "team vision's own. With a limit of at most 1 h it could borrow.",
    ),
    "its cluster does not answer": (
        snapshot([spot("n1", why_not="silent"), spot("n2", why_not="lost")], [job(1)]),
        "The cluster north has not answered; its jobs keep running, nothing new starts there.",
    ),
    "a drained node would be enough": (
        snapshot([spot("n1", FULL), spot("n2", why_not="drained")], [job(1)]),
        "1 node is out of service (drained). With it your job would fit.",
    ),
    "a node is out for a reason nobody has named": (
        snapshot([spot("n1", FULL), spot("n2", why_not="on fire")], [job(1)]),
        "1 node is out of service (down). With it your job would fit.",
    ),
    "several nodes are out, and a limit says when it goes without them": (
        snapshot(
            [spot("n1", FULL), spot("n2", why_not="drained"), spot("n3", why_not="silent")],
            [job(1), job(2)],
            [run(7, [seat(1)], 180)],
        ),
        "2 nodes are out of service (1 drained and 1 silent). With them your job would fit; "
        "without them: planned on n1 in about 3 h at the latest, when job 7 ends.",
    ),
    "the pool is full and a limit says when room comes free": (
        snapshot([spot("n1", FULL), spot("n2", "xxxxx...")], [job(1)], [run(4711, [seat(1)], 40)]),
        "The training pool is full: it needs 8 H100, 3 are free. "
        "Planned on n1 in about 40 min at the latest, when job 4711 ends.",
    ),
    "a forecast is no promise": (
        snapshot([spot("n1", FULL)], [job(1)], [run(4711, [seat(1)], expected_end=NOW + 40 * MINUTE)]),
        "The training pool is full: it needs 8 H100, none is free. "
        "Planned on n1 in about 40 min, when job 4711 should end.",
    ),
    "the pool is full and nobody knows": (
        snapshot([spot("n1", "xxxxxxx.")], [job(1, "1x4")]),
        f"The training pool is full: it needs 4 H100, 1 is free. {UNKNOWN}",
    ),
    "half of it would start now": (
        snapshot([spot("n1", "xxxxxx..")], [job(1, "1x4")]),
        f"The training pool is full: it needs 4 H100, 2 are free. {UNKNOWN} With 2 GPUs it would start now.",
    ),
    "a limit that lies too far ahead is no answer": (
        snapshot([spot("n1", FULL)], [job(1)], [run(7, [seat(1)], 31 * 24 * 60)]),
        f"The training pool is full: it needs 8 H100, none is free. {UNKNOWN}",
    ),
    "two pools of one cluster": (
        snapshot([spot("n1", FULL), spot("n2", FULL, pool="research")], [job(1)]),
        f"The cluster north is full: it needs 8 H100, none is free. {UNKNOWN}",
    ),
    "two clusters, each too full": (
        snapshot([spot("n1", "xxxxxx.."), spot("n2", "xxxxx...", cluster="south")], [job(1)]),
        f"Both clusters are full: it needs 8 H100 in one, none has more than 3 free. {UNKNOWN}",
    ),
    "any type would do": (
        snapshot([spot("n1", "xxxxxxx."), spot("n2", "xxxxx...", gpu_type="A100")], [job(1, "1x8", "")]),
        f"No GPU type has room: it needs 8 of one type, at most 3 (A100) are free. {UNKNOWN}",
    ),
    "what is free lacks something": (
        snapshot(
            [spot("n1", FULL, features=frozenset({"ib"})), spot("n2"), spot("n3", pool="edge")],
            [job(1, "1x8", features=frozenset({"ib"}))],
        ),
        f"The training pool is full: it needs 8 H100, none is free (16 more without the feature ib). {UNKNOWN}",
    ),
    "enough free, but not in one node": (
        snapshot([spot("n1", HALF), spot("n2", HALF)], [job(1)], [run(9, [seat(2, "0123")], 150)]),
        "8 H100 are free, but at most 4 in one node and your job asks for 8 in one node. "
        "Planned on n2 in about 2 h 30 min at the latest, when job 9 ends. With 4 GPUs it would start now.",
    ),
    "enough free, but not in enough nodes": (
        snapshot([spot("n1"), spot("n2", HALF), spot("n3", HALF)], [job(1, "2x8")]),
        "16 H100 are free, but only 1 node has 8 of them and your job asks for 2 such nodes. "
        f"{UNKNOWN} With 8 GPUs it would start now.",
    ),
    "enough free, but not in one rack": (
        snapshot(racks(r1=[EMPTY, HALF], r2=[EMPTY, FULL]), [job(1, "16", level="rack", required=True)]),
        f"20 H100 are free, but at most 12 in one rack (r1) and your job asks for 16 in one rack. {UNKNOWN} "
        "With 'rack preferred' it would start now.",
    ),
    "enough free, but not in one rack, and racks have no names": (
        snapshot(
            [spot("n1", HALF, rack=""), spot("n2", HALF, rack="", block="b2")],
            [job(1, "6", level="rack", required=True)],
        ),
        f"8 H100 are free, but at most 4 in one rack and your job asks for 6 in one rack. {UNKNOWN} "
        "With 'rack preferred' it would start now.",
    ),
    "its place is in a rack": (
        snapshot([spot("n1"), spot("n2", FULL)], [job(1, "2x8")], [run(7, [seat(2)], 40)]),
        f"{TWO} Planned on rack r1 {SOON} With 8 GPUs it would start now.",
    ),
    "its place is in a block whose racks have no names": (
        snapshot([spot("n1", rack=""), spot("n2", FULL, rack="")], [job(1, "2x8")], [run(7, [seat(2)], 40)]),
        f"{TWO} Planned on block b1 {SOON} With 8 GPUs it would start now.",
    ),
    "neither racks nor blocks have names": (
        snapshot(
            [spot("n1", rack="", block=""), spot("n2", FULL, rack="", block="")],
            [job(1, "2x8")],
            [run(7, [seat(2)], 40)],
        ),
        f"{TWO} Planned on 2 nodes {SOON} With 8 GPUs it would start now.",
    ),
    "racks have names, and blocks have none": (
        snapshot(
            [spot("n1", block=""), spot("n2", FULL, block="", rack="r2")],
            [job(1, "2x8")],
            [run(7, [seat(2)], 40)],
        ),
        f"{TWO} Planned on 2 nodes {SOON} With 8 GPUs it would start now.",
    ),
    "enough free, but not in whole groups": (
        snapshot([spot("n1", "x..x..x.", links="00011122"), spot("n2", FULL)], [job(1, "5", tp=1)]).__class__
        and snapshot([spot("n1", ".x.x.x.x", links="00112233"), spot("n2", FULL)], [job(1, "2", tp=2)]),
        "4 H100 are free, but only 0 in whole groups of 2 that share NVLink and your job asks for 2. "
        + UNKNOWN,
    ),
    "enough free, but not enough beside them": (
        snapshot([spot("n1", "x.......", cpus=16.0)], [job(1, "6", cpus_per_gpu=4.0)]).__class__
        and snapshot(
            [spot("n1", "xxxxx...", cpus=16.0), spot("n2", "xxxxx...", cpus=16.0)],
            [job(1, "6", cpus_per_gpu=4.0)],
            [
                run(7, [seat(1, "01234")]),
                run(8, [seat(2, "01234")], request=job(8, "5", cpus_per_gpu=2.0).request),
            ],
        ),
        "6 H100 are free, but the CPUs, memory or disk beside them last for 4 and your job asks for 6. "
        f"{UNKNOWN} With 4 GPUs it would start now.",
    ),
    "a window begins before its limit ends": (
        snapshot(
            [spot("n1")],
            [job(1, limit_s=12 * HOUR)],
            windows=(Window(NOW + 5 * HOUR, NOW + 9 * HOUR, frozenset({1})),),
        ),
        "A maintenance window starts at 19:25 UTC on 18 Nov and your limit is 12 h. "
        "With a limit under 5 h it would start now.",
    ),
    "a window is on": (
        snapshot(
            [spot("n1")], [job(1)], windows=(Window(NOW - HOUR, NOW + HOUR, frozenset({1}), "firmware"),)
        ),
        "The window firmware lasts until 15:25 UTC on 18 Nov and holds the places that your job needs.",
    ),
    "a gate that opens by itself": (
        snapshot([spot("n1")], [job(1)], policy=Policy(peaks=(Peak(8, 18, 8),))),
        "Standard jobs of 8 GPUs and more wait from 8 to 18 h (UTC), and it asks for 8. "
        "It may start after 18:00 UTC on 18 Nov.",
    ),
    "as many jobs as its user may run": (
        snapshot(
            [spot("n1", HALF), spot("n2")],
            [job(1)],
            [run(7, [seat(1, "0123")])],
            policy=Policy(max_jobs_per_user={"production": 9.0, "standard": 1.0, "opportunistic": 9.0}),
        ),
        "You run 1 standard job and may run at most 1 at once.",
    ),
    "on hold": (
        snapshot(
            [spot("n1")],
            [
                job(
                    1,
                    gate=Gate(
                        Reason.HELD, {"since": "2026-11-18T09:12:00+00:00", "by": "Alice", "note": "later"}
                    ),
                )
            ],
        ),
        "On hold since 09:12 UTC on 18 Nov by Alice: later.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_job_is_told(case: str) -> None:
    snap, want = CASES[case]
    assert told(snap) == want
