"""Making a place by the rules: whom a job may send away, and what is kept for it meanwhile."""

from scheduler.core.beside import ground_for
from scheduler.core.candidates import Chosen
from scheduler.core.elastic import sizes
from scheduler.core.herd import Herd
from scheduler.core.maystop import Case
from scheduler.core.model import Job, Tier
from scheduler.core.preempt import Way, find_way
from scheduler.core.recall import due_at, ran_long
from scheduler.core.receipts import stops
from scheduler.core.regroup import regroup
from scheduler.core.table import Fit, Table
from scheduler.core.victims import Exhausted, Making, make_place
from scheduler.core.want import Want

UNKNOWN_S = 600.0  # how long a job runs of which nobody knows anything


def make_way(table: Table, job: Job) -> bool:
    """Free a place for the job, least harm first; whether somebody was asked to go for it.

    Where all that it needs is on its way already, because others leave, nobody goes besides.
    """
    if table.rules.stops_left <= 0:
        return False
    if table.spent:
        table.exhausted.add(job.id)
        return False
    recall = table.now >= due_at(job, table.policy)
    rules, want, ground = table.rules.on(table.leaving.books()), _want(table, job), ground_for(table, job)
    for kind in table.accepted(job):
        case = Case(job, kind, rules, gpus=want.size, recall=recall)
        if case.may_start(rules.books) and want.on(kind).fits(ground):
            if table.pledges.broken(job, kind, case.gpus) is None:
                return False
            continue
        if _by_stops(table, case, want, table.herd) or _as_promised(table, case, want):
            return True
    return False


def _as_promised(table: Table, case: Case, want: Want) -> bool:
    """What was promised within a stated time outranks the care for one user, and is worth moves of others."""
    if not case.is_promised():
        return False
    herd = table.herd
    if case.rules.may_spare(case.gpus):
        herd = table.herd_of_promises
        case = Case(case.job, case.kind, case.rules.for_promises(), gpus=case.gpus, recall=case.recall)
        if _by_stops(table, case, want, herd):
            return True
    return case.job.tier is Tier.PRODUCTION and regroup(table, case, want, herd.seek(case))


def _by_stops(table: Table, case: Case, want: Want, herd: Herd) -> bool:
    """Whether those whom the rules let go make a place: then they have been asked."""
    if not _could_fit(table, case, herd):
        return False
    found = herd.seek(case)
    if not found.candidates:
        return False
    way = find_way(case, ground_for(table, case.job), want, table.standing_runs(), found=found)
    if isinstance(way, Exhausted):
        table.exhausted.add(case.job.id)
    if not isinstance(way, Way) or not way.making.victims or _breaks_pledge(table, way):
        return False
    _carry_out(table, way)
    return True


def _breaks_pledge(table: Table, way: Way) -> bool:
    """Whether somebody for whom others make way already could not start then, because quota would refuse it."""
    victims = (one.run for one in way.making.victims)
    return table.pledges.broken(way.case.job, way.case.kind, way.case.gpus, victims) is not None


def recall_early(table: Table, job: Job, gain_s: float) -> bool:
    """Before it is due: when those who could use the place one after the other wait longer than it costs."""
    for kind in table.kinds(job, sizes(job.request)[0]):
        want = _want(table, job).on(kind)
        case = Case(job, kind, table.rules, gpus=sizes(job.request)[0], recall=True)
        found = table.herd.seek(case, lambda run: ran_long(job, run, table.now, table.policy))
        if not found.candidates:
            continue
        made = make_place(ground_for(table, job), want, found.candidates, chosen=Chosen(table.rules))
        if not isinstance(made, Making) or not made.victims:
            continue
        if _harm_s(job, made) * table.policy.recall_worth > gain_s:
            continue
        way = Way(case, made, found)
        if _may_start_then(table, way) and not _breaks_pledge(table, way):
            _carry_out(table, way)
            return True
    return False


def _may_start_then(table: Table, way: Way) -> bool:
    """Whether quota lets it start when all have gone: with more that is free, there may be more that others keep."""
    books = table.leaving.books().copy()
    for one in way.making.victims:
        books.gone(one.run)
    return way.case.may_start(books)


def harm_s(job: Job, lost_s: float) -> float:
    """How long one victim is thrown back: what it loses, and the run of the one it makes way for."""
    return lost_s + (UNKNOWN_S if job.forecast_s is None else job.forecast_s)


def _harm_s(job: Job, made: Making) -> float:
    """In seconds of finishing later, all victims together: work that is not saved, and the restart."""
    return sum(harm_s(job, victim.cost / victim.gpus) for victim in made.victims)


def _want(table: Table, job: Job) -> Want:
    return Want.of(job, table.policy, gpus=sizes(job.request)[0], relaxed=not table.wishes.binds(job))


def _could_fit(table: Table, case: Case, herd: Herd) -> bool:
    """Whether it would have a place if everything went that any job of its tier may send away."""
    job = case.job
    gone = herd.empties(table.board, job, case.kind, recall=case.recall)
    if gone is None:
        return False
    request = table.narrow(job.request, (case.kind,))
    return gone.holds(request, tier=job.tier, policy=table.policy, gpus=case.gpus)


def _carry_out(table: Table, way: Way) -> None:
    job, made = way.case.job, way.making
    for victim, stop in zip(made.victims, stops(way), strict=True):
        table.stop(victim.run, stop)
    table.claim(job, Fit(made.placement, way.case.gpus), (one.run.job for one in made.victims), table.now)
