"""One round of the planner, everything included: from a cold snapshot at growing sizes, and from a warm one."""

from collections.abc import Iterator
from gc import collect
from time import perf_counter

from portal.bench.crowds import Size, crowd
from portal.bench.passing import after
from portal.bench.rows import Options, Row, growing
from scheduler.core.model import Snapshot
from scheduler.core.planner import plan
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan

USUAL = Size(nodes=2_000, waiting=10_000)
LARGEST = Size(nodes=12_500, waiting=100_000)
USUAL_S, LARGEST_S = 1.0, 2.0
FACTORS = (1 / 8, 1 / 4, 1 / 2, 1.0)
CHANGES = (8, 80, 800)


def cycle(options: Options) -> Iterator[Row]:
    """Cold rounds at 1, 2, 4 and 8 times the size, the largest cluster, and warm rounds with more and more changes."""
    sizes = [USUAL.times(options.scale * factor) for factor in FACTORS]
    yield from growing(_cold(size, options) for size in sizes)
    yield _high(sizes[-1], options)
    yield _largest(LARGEST.times(options.scale), options)
    yield from growing(_warm(sizes[-1], options, changes) for changes in CHANGES)


def timed(snap: Snapshot, desk: Desk | None = None) -> tuple[float, Plan]:
    """Seconds of one round, and its plan; nobody else's rubbish is swept meanwhile."""
    collect()
    began = perf_counter()
    made = plan(snap, desk)
    return perf_counter() - began, made


def _words(size: Size) -> str:
    return f"{size.nodes:,} nodes, {size.waiting:,} waiting"


def _cold(size: Size, options: Options) -> Row:
    took = sorted(timed(crowd(size, options.seed + number))[0] for number in range(min(3, options.rounds)))
    return Row(f"cold round, {_words(size)}, median", took[len(took) // 2])


def _high(size: Size, options: Options) -> Row:
    """The 95th of a hundred; of so few rounds that is the slowest."""
    took = sorted(timed(crowd(size, options.seed + number))[0] for number in range(options.rounds))
    note = f"{options.rounds} different snapshots"
    return Row(f"cold round, {_words(size)}, p95", took[int(0.95 * len(took))], goal=USUAL_S, note=note)


def _largest(size: Size, options: Options) -> Row:
    took, made = timed(crowd(size, options.seed))
    note = f"{len(made.starts)} starts, {len(made.stops)} stops, {made.steps:,} steps"
    return Row(f"cold round, {_words(size)}", took, goal=LARGEST_S, note=note)


def _warm(size: Size, options: Options, changes: int) -> Row:
    """The third of three rounds that follow each other at one desk: what a first round does is done."""
    snap, desk = crowd(size, options.seed), Desk()
    took, made = timed(snap, desk)
    for number in range(3):
        snap = after(snap, made, changes, options.seed + number)
        took, made = timed(snap, desk)
    return Row(f"warm round, {_words(size)}, {changes} changes", took, note=f"{made.steps:,} steps")
