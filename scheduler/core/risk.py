"""What a start would do to promises: which of them bind a job, and whether they can step aside for it."""

from collections.abc import Sequence

from scheduler.core.board import Board, Placement
from scheduler.core.maystop import Case
from scheduler.core.model import Job, Promise, Seat, Tier
from scheduler.core.promise import stated_bound
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


def outlives(table: Table, job: Job) -> int:
    """How many promises and windows begin before it would end: jobs with the same number find the same places open."""
    until = table.now + table.lasts_s(job)
    begins = (one.at for one in table.promises.values()), (window.begins for window in table.snap.windows)
    return sum(begin < until for each in begins for begin in each)


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
    if job.tier is Tier.PRODUCTION:
        others = (one for one in others if _delays_production(table, job, one))
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

    Where both ends are known, it would delay that start. Without a limit, only what could be gone by then starts
    in the way of a plan that is certain or due: else those who may not be stopped yet follow each other for ever.
    """
    owner, policy = table.waiting[promise.job], table.policy
    if table.snap.teams and owner.team != job.team and job.tier is not Tier.OPPORTUNISTIC:
        return True
    certain = promise.job in table.certain
    if certain and job.limit_s is not None:
        return True
    due = promise.protected and table.now >= due_at(owner, policy)
    return (certain or due) and table.now + policy.min_runtime_s[job.tier.word] + policy.grace_s > promise.at


def _delays_production(table: Table, job: Job, promise: Promise) -> bool:
    """Only older production does, once its age protects it, or where limits say when it starts.

    A start that was planned beyond the bound on the wait of production (design 6.1) keeps nobody waiting who has one.
    """
    if table.waiting[promise.job].tier is not Tier.PRODUCTION:
        return False
    if promise.protected:
        return True
    return promise.job in table.certain and not (_beyond_bound(table, promise) and _has_bound(table, job))


def is_certain(table: Table, promise: Promise) -> bool:
    """Whether limits alone say when it starts, and no production that comes now may start in its way."""
    passed = table.waiting[promise.job].tier is Tier.PRODUCTION and _beyond_bound(table, promise)
    return promise.job in table.certain and not passed


def _beyond_bound(table: Table, promise: Promise) -> bool:
    return promise.at > table.now + stated_bound(table.policy)


def _has_bound(table: Table, job: Job) -> bool:
    """Production inside its nominal, for at most one node or for whole nodes without a required topology."""
    request = job.request
    if request.nodes > 1 and request.required:
        return False
    kinds = table.accepted(job)
    cases = (Case(job, kind, table.rules, gpus=request.least) for kind in kinds)
    return not table.snap.teams or any(case.is_promised() for case in cases)


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
