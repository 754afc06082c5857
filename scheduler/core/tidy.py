"""Moves that make room for a gang which only scattered free GPUs keep waiting."""

from math import inf

from scheduler.core.beside import gone_by, home_of
from scheduler.core.defrag import Floor, Tidied, consolidate, scattered
from scheduler.core.elastic import sizes
from scheduler.core.line import Line
from scheduler.core.model import Job, Tier
from scheduler.core.moving import ask_to_move
from scheduler.core.table import Table
from scheduler.core.victims import Exhausted
from scheduler.core.want import Want

LOOKS = 4  # gangs for which moves are sought in one round


def tidy(table: Table, line: Line) -> None:
    """Defragment when it pays: for the first gangs in line, as far as this hour's moves go."""
    left = min(table.policy.moves_per_hour - table.snap.moves_lately, table.rules.stops_left)
    looks = LOOKS
    others: set[tuple[object, ...]] = set()  # kinds of jobs that scattered GPUs do not keep waiting
    for job in line.order:
        if left <= 0 or looks <= 0 or table.spent:
            return
        if job.id in table.settled or job.request.gpus == 1:
            continue
        relaxed = not table.wishes.binds(job)
        windows = table.boards.windows(gone_by(table, job))
        alike = (job.request, job.team, job.tier is Tier.PRODUCTION, table.lending.to(job), relaxed, windows)
        if alike in others:
            continue
        want = _scattered(table, job, relaxed=relaxed)
        if want is None:
            others.add(alike)
            continue
        looks -= 1
        if moves := _move_for(table, job, want, left):
            left -= moves
            others.clear()


def _scattered(table: Table, job: Job, *, relaxed: bool) -> Want | None:
    """What it wants of the first type that quota allows and of which enough are free, and nowhere together."""
    gpus, board = sizes(job.request)[0], table.clear_of(frozenset(), gone_by(table, job))
    for kind in table.accepted(job):
        want = Want.of(job, table.policy, gpus=gpus, relaxed=relaxed).on(kind)
        if scattered(board, want) and kind in table.kinds(job, gpus):
            return want
    return None


def _move_for(table: Table, job: Job, want: Want, left: int) -> int:
    """How many runs were asked to move for this job."""
    others = frozenset(table.promises) - {job.id}
    board = table.clear_of(others, gone_by(table, job))
    floor = Floor(board, lambda run: home_of(table, others, run))
    planned = table.promises.get(job.id)
    wait_s = inf if planned is None else planned.at - table.now
    found = consolidate(floor, want, table.standing_runs(), table.rules, wait_s=wait_s, most=left)
    if isinstance(found, Exhausted) and found.limit == "steps":
        table.exhausted.add(job.id)
    if not isinstance(found, Tidied):
        return 0
    ask_to_move(table, job, found)
    return len(found.moves)
