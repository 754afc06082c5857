"""Random small worlds for the properties: a cluster, what runs on it, who waits, and the team tree."""

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from scheduler.core.model import (
    Claim,
    Job,
    Lost,
    Node,
    Request,
    Running,
    Seat,
    Share,
    Snapshot,
    Team,
    Tier,
    Window,
)
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from tests.core.builders import NOW

quick = settings(max_examples=300, deadline=None, database=None)
# Drawn as bytes: hypothesis is fond of small and repeated integers, and each of them would be the same world.
seeds = st.binary(min_size=8, max_size=8).map(lambda drawn: int.from_bytes(drawn, "big"))

TYPES = ("A100", "H100")
ABOVE = {"org": None, "vision": "org", "depth": "vision", "speech": "org"}
STATES = ("",) * 16 + ("drained", "silent", "lost", "pending")
POLICY = Policy(production_pools=("reserved",), sharing_pools=("shared",))
LARGEST = 4


def worlds(most_nodes: int = 9, most_jobs: int = 12) -> st.SearchStrategy[Snapshot]:
    """Sizes shrink; the rest comes from one seed, which meets far more kinds of worlds in the same time."""
    nodes, jobs = (st.sampled_from(range(most + 1)) for most in (most_nodes, most_jobs))
    return st.builds(build, nodes, jobs, seeds)


def build(nodes: int, jobs: int, seed: int) -> Snapshot:
    """Every GPU that is not free is held by one of two runs on its node."""
    dice = Random(seed)
    fancy = dice.random() < 0.5  # else a plain cluster, where sizes and places alone decide
    around = tuple(_node(dice, number, fancy) for number in range(nodes))
    gone = dice.choice(("",) * 20 + ("south", "north"))
    around = tuple(_gone(node) if node.cluster == gone else node for node in around)
    free = np.zeros((nodes, LARGEST), dtype=bool)
    held: dict[int, list[tuple[int, int]]] = {}
    busy = dice.choice((0.0, 0.2, 0.5))
    for row, node in enumerate(around):
        for slot in range(len(node.nvlink)):
            free[row, slot] = node.nvlink[slot] >= 0 and dice.random() >= busy
            if not free[row, slot] and node.nvlink[slot] >= 0:
                held.setdefault(100 + 10 * row + dice.randrange(2), []).append((row, slot))
    running = tuple(_run(dice, number, around, slots) for number, slots in held.items())
    waiting = tuple(_job(dice, number, fancy) for number in range(1, 1 + jobs))
    teams = [_team(dice, name) for name in ABOVE]
    dice.shuffle(teams)
    policy = POLICY if fancy else Policy()
    snap = Snapshot(NOW, around, free, waiting, running, tuple(teams), policy=policy)
    return _in_the_middle(dice, snap) if dice.random() < 0.5 else snap


def _in_the_middle(dice: Random, snap: Snapshot) -> Snapshot:
    """Plans were made before: maintenance is near, and a run goes for a job that waits."""
    windows = tuple(_window(dice, snap.nodes) for _ in range(dice.choice((0, 1, 1, 2))) if snap.nodes)
    here = [run for run in snap.running if _usable(snap, run)]
    if not here or not snap.waiting or dice.random() < 0.5:
        return replace(snap, windows=windows)
    going, job = dice.choice(here), dice.choice(snap.waiting)
    asked = Request(going.gpus, gpu_types=dice.choice(((), (going.gpu_type,))))
    return replace(
        snap,
        windows=windows,
        waiting=tuple(replace(one, request=asked) if one is job else one for one in snap.waiting),
        running=tuple(
            replace(run, stopping=True, asked_at=NOW - 60.0) if run is going else run for run in snap.running
        ),
        claims=(Claim(job.id, going.seats, (going.job,), NOW - 60.0),),
    )


def rough_worlds() -> st.SearchStrategy[Snapshot]:
    """Full clusters where much is planned already."""
    return st.builds(rough, st.sampled_from(range(3, 9)), st.sampled_from(range(1, 10)), seeds)


def rough(nodes: int, jobs: int, seed: int) -> Snapshot:
    """Nodes close soon, gangs lost a seat, and promises stand that were made before; work moves easily."""
    dice = Random(f"rough {seed}")
    snap = build(nodes, jobs, seed)
    limited = dice.random() < 0.6  # else forecasts decide when places come free
    running = tuple(_at_hand(dice, run, limited=limited) for run in snap.running)
    hit = [run for run in running if not run.stopping and dice.random() < 0.15]
    lost = tuple(Lost(run.job, run.seats) for run in hit)
    windows = tuple(_window(dice, snap.nodes) for _ in range(dice.choice((0, 1, 2))))
    waiting = tuple(_old(dice, job) for job in snap.waiting)
    snap = replace(snap, running=running, lost=lost, windows=windows, waiting=waiting)
    snap = unlimited(snap) if dice.random() < 0.7 else snap
    return replace(snap, promises=plan(snap, evidence=False).promises)


def _old(dice: Random, job: Job) -> Job:
    """It came hours or days ago; some are protected by their age."""
    waited, limit = (
        60.0 * dice.choice((1, 200, 2000, 5000)),
        dice.choice((job.limit_s, 600.0, 36000.0, 36000.0)),
    )
    tier = dice.choice((Tier.STANDARD, Tier.STANDARD, job.tier))
    asked = job.request if dice.random() < 0.2 else Request(dice.choice((1, 2, 3, 4, 4, 6, 8)))
    return replace(job, submitted_at=NOW - waited, limit_s=limit, request=asked, tier=tier)


def _at_hand(dice: Random, run: Running, *, limited: bool) -> Running:
    """It saves its work, and something is known of its end."""
    minutes = 60.0 * dice.randint(5, 300)
    known = {"ends_by" if limited or run.ends_by is not None else "expected_end": NOW + minutes}
    tier = dice.choice((Tier.OPPORTUNISTIC, Tier.OPPORTUNISTIC, run.tier))
    since: dict[str, float] = {
        "started_at": NOW - 36000.0,
        "submitted_at": NOW - 3600.0 * dice.choice((11, 99)),
    }
    able = {"checkpoints": dice.random() < 0.8, "preemptible": dice.random() < 0.9}
    return replace(run, tier=tier, **known, **since, **able)


def _usable(snap: Snapshot, run: Running) -> bool:
    (node,) = [node for node in snap.nodes if node.id == run.seats[0].node]
    return node.usable and not node.sliced and node.pool not in snap.policy.production_pools


def _window(dice: Random, nodes: tuple[Node, ...]) -> Window:
    begins = NOW + 60.0 * dice.choice((-30, 5, 30, 200))
    closed = dice.sample(nodes, dice.randint(1, len(nodes)))
    return Window(
        begins, begins + 7200.0, frozenset(node.id for node in closed), dice.choice(("", "firmware"))
    )


def _gone(node: Node) -> Node:
    """Nothing is heard of its cluster."""
    return replace(node, usable=False, why_not="silent") if node.why_not != "pending" else node


def _node(dice: Random, number: int, fancy: bool) -> Node:
    why_not = dice.choice(STATES)
    slots = dice.choice((1, 2, 3, 4, 4, 4, LARGEST))
    plain = Node(
        id=number * 7 % 11,
        name=f"n{number}",
        cluster=dice.choice(("north",) * 5 + ("south",)),
        pool=dice.choice(("training", "research")),
        block=dice.choice(("b1", "b1", "b2")),
        rack=dice.choice(("r1", "r1", "r2")),
        gpu_type=dice.choice(TYPES) if fancy else "H100",
        nvlink=tuple(dice.choice((0, 0, 0, 0, 1, 1, 1, 1, 1, -1)) for _ in range(slots)),
        usable=not why_not,
        why_not=why_not,
    )
    if not fancy:
        return plain
    sliced = dice.random() < 0.15
    return replace(
        plain,
        gpu_type=f"{plain.gpu_type}-slice" if sliced else plain.gpu_type,
        pool=dice.choice(("training", "training", "research", "reserved", "shared")),
        gpu_memory_gib=dice.choice((None, 40.0, 80.0)),
        cpus=dice.choice((None, 4.0, 16.0)),
        memory_gib=dice.choice((None, 64.0)),
        scratch_gib=dice.choice((None, None, 2.5)),
        features=dice.choice((frozenset(), frozenset({"ib"}), frozenset({"ib", "nvme"}))),
        spot=dice.random() < 0.3,
        sliced=sliced,
        lemon=dice.choice((0, 0, 0, 0, 1, 5)),
    )


def request(dice: Random, fancy: bool) -> Request:
    """Any shape; in a plain world without wishes beyond size, level and tensor parallelism."""
    tp = dice.choice((1, 1, 1, 1, 2, 2, 3))
    nodes = dice.choice((0, 0, 1, 2, 2, 3))
    gpus = tp * dice.choice((1, 1, 2, 2, 3, 4, 5) if nodes == 0 else (1, 1, 2, 3)) * (nodes or 1)
    level = dice.choice(("", "", "node", "rack", "block"))
    plain = Request(gpus, nodes, tp, level=level, required=dice.random() < 0.6, spread=dice.random() < 0.15)
    if not fancy:
        return plain
    return replace(
        plain,
        gpu_types=dice.choice(((), ("H100",), ("A100", "H100"), ("H100-slice", "B200", "A100"), ())),
        pool=dice.choice(("", "", "", "training", "shared")),
        features=dice.choice((frozenset(), frozenset(), frozenset({"ib"}), frozenset({"ib", "nvme"}))),
        gpu_memory_gib=dice.choice((0.0, 0.0, 64.0)),
        cpus_per_gpu=dice.choice((0.0, 0.0, 0.1, 2.0, 3.0)),
        memory_gib_per_gpu=dice.choice((0.0, 0.0, 20.0)),
        scratch_gib_per_gpu=dice.choice((0.0, 0.0, 0.7)),
        spot_share=dice.choice((1.0, 1.0, 0.0, 0.34, 0.5, 1 / 3)),
    )


def _job(dice: Random, number: int, fancy: bool) -> Job:
    return Job(
        id=number,
        version=dice.randint(1, 3),
        team=dice.choice(tuple(ABOVE)),
        user=dice.choice(("mira", "noor")),
        tier=dice.choice(tuple(Tier)),
        submitted_at=NOW - 60.0 * dice.randrange(4),
        request=request(dice, fancy),
        limit_s=dice.choice((None, 600.0, 3600.0)),
        preemptible=dice.random() < 0.8,
    )


def _team(dice: Random, name: str) -> Team:
    limited = [kind for kind in TYPES if dice.random() < 0.25]
    return Team(name, ABOVE[name], {kind: _share(dice) for kind in limited})


def _share(dice: Random) -> Share:
    borrow, lend = dice.choice((0, 0, 2, 4, None)), dice.choice((None, None, 0, 2))
    return Share(dice.choice((0, 2, 4, 4, 6, 8, 12)), borrow, lend)


def _run(dice: Random, number: int, nodes: tuple[Node, ...], held: list[tuple[int, int]]) -> Running:
    node = nodes[held[0][0]]
    return Running(
        job=number,
        team=dice.choice(tuple(ABOVE)),
        tier=dice.choice(tuple(Tier)),
        gpu_type=node.gpu_type,
        seats=(Seat(node.id, tuple(slot for _, slot in held)),),
        request=Request(len(held), cpus_per_gpu=dice.choice((0.0, 0.0, 0.1, 1.0))),
        started_at=NOW - 60.0 * dice.randrange(300),
        ends_by=None if dice.random() < 0.3 else NOW + 60.0 * dice.randint(-5, 4000),
        preemptible=dice.random() < 0.7,
        checkpoints=dice.random() < 0.5,
    )


def only(snap: Snapshot, *jobs: Job) -> Snapshot:
    """The same world with only these jobs waiting."""
    return replace(snap, waiting=jobs)


def unlimited(snap: Snapshot) -> Snapshot:
    """The same world without quotas."""
    return replace(snap, teams=tuple(replace(team, quota={}) for team in snap.teams))


def healthy(snap: Snapshot) -> Snapshot:
    """The same world with all approved nodes back."""
    back = tuple(
        node if node.why_not == "pending" else replace(node, usable=True, why_not="") for node in snap.nodes
    )
    return replace(snap, nodes=back)


def emptied(snap: Snapshot) -> Snapshot:
    """The same world, healthy and with nothing running."""
    every = np.zeros(snap.free.shape, dtype=bool)
    for row, node in enumerate(snap.nodes):
        every[row, : len(node.nvlink)] = [link >= 0 for link in node.nvlink]
    return replace(healthy(snap), free=every, running=())
