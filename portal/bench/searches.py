"""Single searches of a round, and rounds that ask for the most: what each costs, and whether it says so when it gives up."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from portal.bench.crowds import DAY, NOW, Size, crowd
from portal.bench.cycles import USUAL, timed
from portal.bench.rows import Options, Row
from scheduler.core.board import Board
from scheduler.core.layout import Layout
from scheduler.core.model import Job, Request, Share, Snapshot, Team, Tier
from scheduler.core.reasons import Reason
from scheduler.core.verbs import Plan

ONES = Size(nodes=500, waiting=1, busy=1.0, down=0.0, runs={1: 1.0})  # 4,000 runs of one GPU each
OWNER, GUESTS = "owner", "guests"


def searches(options: Options) -> Iterator[Row]:
    """A job that can never run, a large gang on a half-empty cluster, and one GPU that its owner takes back."""
    ones = crowd(ONES.times(options.scale), options.seed)
    ones = replace(ones, free=np.zeros_like(ones.free))
    never = _asking(ones, Request(16, nodes=1, gpu_types=("H100",)))
    took, made = timed(never)
    told = made.verdicts[0].reason.value
    yield Row(f"verdict for one that can never run, {len(ones.running):,} runs", took, goal=1.0, note=told)
    yield _placed(options)
    took, made = timed(_lent(ones))
    note = f"{len(made.stops)} stop: {', '.join(stop.why.value for stop in made.stops)}"
    yield Row(f"plan to take back one GPU, {len(ones.running):,} runs", took, goal=1.0, note=note)


def worst(options: Options) -> Iterator[Row]:
    """No two shapes alike, everything free at once, a search through all domains, a thousand teams."""
    usual = USUAL.times(options.scale)
    yield _round("no two shapes alike", crowd(replace(usual, shapes=True), options.seed))
    yield _round("everything released at once", crowd(replace(usual, busy=0.0), options.seed))
    yield _round("1,000 teams", crowd(replace(usual, teams=1_000, users=1), options.seed))
    yield _round("a gang that needs half of a block cleared", _blocked(options))
    few = replace(crowd(replace(usual, shapes=True), options.seed).policy, backfill_depth=100)
    hasty = crowd(replace(usual, shapes=True), options.seed, few)
    yield _round("no two shapes alike, 100 looked at", hasty)


def _round(what: str, snap: Snapshot) -> Row:
    took, made = timed(snap)
    did = f"{len(made.starts):,} starts, {len(made.stops):,} stops, {made.steps:,} steps"
    return Row(f"{what}: a round", took, note=did + _gave_up(made))


def _gave_up(made: Plan) -> str:
    """How many are told that they were not reached, or that a search for them ended early."""
    told = Counter(verdict.reason is Reason.NOT_REACHED for verdict in made.verdicts)[True]
    ended = sum("search_ended" in verdict.numbers for verdict in made.verdicts)
    return (f", {told:,} told not reached" if told else "") + (
        f", {ended:,} told that a search ended early" if ended else ""
    )


def _asking(snap: Snapshot, request: Request, **known: object) -> Snapshot:
    """The same cluster, and one job that waits."""
    job = Job(1, 1, OWNER, "somebody", Tier.STANDARD, NOW - DAY, request)
    return replace(snap, waiting=(replace(job, **known),), teams=())  # type: ignore[arg-type]  # fields of a job


def _placed(options: Options) -> Row:
    """From free GPUs to seats, on a layout that the cycle before has left."""
    snap = crowd(replace(USUAL.times(options.scale), busy=0.5), options.seed)
    layout, gpus = Layout(snap.nodes), min(512, len(snap.nodes))
    began = perf_counter()
    found = Board(layout, snap.free).place(Request(gpus, gpu_types=("H100",)))
    took = perf_counter() - began
    note = f"on {len(found.seats)} nodes of one {found.level}" if found else "no place"
    return Row(f"a gang of {gpus} GPUs placed on {len(snap.nodes):,} nodes", took, goal=0.1, note=note)


def _lent(snap: Snapshot) -> Snapshot:
    """Everything was lent to guests, and its owner asks for one GPU."""
    kinds = sorted({node.gpu_type for node in snap.nodes})
    everything = {kind: Share(8 * len(snap.nodes)) for kind in kinds}
    teams = (Team(OWNER, None, everything), Team(GUESTS, None, dict.fromkeys(kinds, Share(0))))
    runs = tuple(replace(run, team=GUESTS, tier=Tier.STANDARD, preemptible=True) for run in snap.running)
    return replace(_asking(snap, Request(1, gpu_types=("H100",))), running=runs, teams=teams)


def _blocked(options: Options) -> Snapshot:
    """Production that needs many whole nodes of one block, each of them full of small opportunistic runs."""
    small = replace(USUAL, waiting=1, busy=1.0, runs={1: 0.3, 2: 0.4, 4: 0.3}).times(options.scale)
    snap = crowd(small, options.seed)
    runs = tuple(replace(run, tier=Tier.OPPORTUNISTIC, preemptible=True) for run in snap.running)
    nodes = max(1, min(64, len(snap.nodes) // 32))
    request = Request(8 * nodes, nodes=nodes, level="block", required=True, gpu_types=("H100",))
    policy = replace(snap.policy, max_stops_per_cycle=4_096, max_user_stops_per_day=4_096)
    return replace(_asking(snap, request, tier=Tier.PRODUCTION), running=runs, policy=policy)
