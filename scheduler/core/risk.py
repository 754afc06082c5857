"""What a start would do to promises: which of them bind a job, and whether they can step aside for it."""

from collections.abc import Sequence

from scheduler.core.board import Board, Placement
from scheduler.core.model import Job, Promise, Seat, Tier
from scheduler.core.recall import due_at, reaches
from scheduler.core.table import Fit, Table
from scheduler.core.timeline import cells

MOST_MOVED = 4  # promises that one start may shift to other places of the same moment


def harmless(table: Table, job: Job) -> Fit | None:
    """A place for the job now that breaks no promise that binds it."""
    until = table.now + table.lasts_s(job)
    bound = binding(table, job)
    fit = table.fit(job, table.clear_of(bound, until))
    if fit is not None or not bound:
        return fit
    fit = table.fit(job, table.clear_of(frozenset(), until))
    if fit is None:
        return None
    hurt = [number for number in table.future.clashes(fit.placement.seats, until) if number in bound]
    if not hurt or (len(hurt) <= MOST_MOVED and _moved(table, hurt, fit.placement.seats)):
        return fit
    return None


def on_recall(table: Table, job: Job, fit: Fit) -> bool:
    """Whether it starts in the way of a promise: it will be called back when that falls due."""
    until = table.now + table.lasts_s(job)
    if not table.promises:
        return False
    return any(number != job.id for number in table.future.clashes(fit.placement.seats, until))


def binding(table: Table, job: Job) -> frozenset[int]:
    """The promises in whose way it must not start."""
    if not table.promises:
        return frozenset()
    can_go = job.preemptible and job.stops < table.policy.max_recalls
    until = table.now + table.lasts_s(job)
    others = (one for one in table.promises.values() if one.job != job.id and one.at < until)
    if job.tier is Tier.PRODUCTION:  # it has a bound of its own: only the age of production delays it
        others = (one for one in others if one.protected and table.waiting[one.job].tier is Tier.PRODUCTION)
    return frozenset(one.job for one in others if not can_go or _binds(table, job, one))


def _binds(table: Table, job: Job, promise: Promise) -> bool:
    """What can be called back may start in the way of a plan that rests on forecasts, unless that is due soon."""
    owner = table.waiting[promise.job]
    if owner.tier > job.tier:
        return _binds_below(table, job, promise)
    if promise.job in table.certain and job.limit_s is not None:
        return True  # both ends are known: it would delay that start
    return promise.protected and reaches(job, due_at(owner, table.policy), table.now)


def _binds_below(table: Table, job: Job, promise: Promise) -> bool:
    """A lower tier goes by its tier when the time comes, unless its team's promise covers it.

    Where its owner is due, only what could be gone by then starts: else those who may not be stopped yet follow
    each other for ever.
    """
    owner, policy = table.waiting[promise.job], table.policy
    if table.snap.teams and owner.team != job.team and job.tier is not Tier.OPPORTUNISTIC:
        return True
    due = promise.protected and table.now >= due_at(owner, policy)
    return due and table.now + policy.min_runtime_s[job.tier.word] + policy.grace_s > promise.at


def _moved(table: Table, hurt: Sequence[int], seats: Sequence[Seat]) -> bool:
    """Give each hurt promise another place at its own moment; all of them, or none."""
    found: dict[int, Placement] = {}
    for number in hurt:
        promise, job = table.promises[number], table.waiting[number]
        free = table.future.free(promise.at, promise.at + table.booked_s(job), but=number)
        free[cells(seats, table.layout)] = False
        for other in found.values():
            free[cells(other.seats, table.layout)] = False
        place = Board(table.layout, free, table.burden).place(job.request, tier=job.tier, policy=table.policy)
        if place is None:
            return False
        found[number] = place
    for number, place in found.items():
        table.move_promise(number, place.seats)
    return True
