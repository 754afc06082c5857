"""Making a place by the rules: whom a job may send away, and what is kept for it meanwhile."""

from scheduler.core.candidates import Chosen
from scheduler.core.elastic import sizes
from scheduler.core.maystop import Case
from scheduler.core.model import Job
from scheduler.core.preempt import Way, find_way
from scheduler.core.recall import due_at, ran_long
from scheduler.core.receipts import stops
from scheduler.core.table import Fit, Table
from scheduler.core.victims import Exhausted, Making, make_place
from scheduler.core.want import Want

UNKNOWN_S = 600.0  # how long a job runs of which nobody knows anything


def make_way(table: Table, job: Job) -> bool:
    """Free a place for the job, least harm first; whether somebody was asked to go for it.

    Where all that it needs is on its way already, because others leave, nobody goes besides.
    """
    due = table.now >= due_at(job, table.policy)
    rules = table.rules.on(table.leaving.books())
    for kind in table.accepted(job):
        if not _could_fit(table, job, kind, recall=due):
            continue
        case, want = Case(job, kind, rules, gpus=sizes(job.request)[0], recall=due), _want(table, job)
        if case.may_start(rules.books) and want.on(kind).fits(table.board):
            if table.pledges.broken(job, kind, case.gpus) is None:
                return False
            continue
        found = table.herd.seek(case)
        if not found.candidates:
            continue
        way = find_way(case, table.board, want, table.standing_runs(), found=found)
        if isinstance(way, Exhausted):
            table.exhausted.add(job.id)
        elif way is not None and not _breaks_pledge(table, way):
            _carry_out(table, way)
            return bool(way.making.victims)
    return False


def _breaks_pledge(table: Table, way: Way) -> bool:
    """Whether somebody for whom others make way already could not start then, because quota would refuse it."""
    victims = (one.run for one in way.making.victims)
    return table.pledges.broken(way.case.job, way.case.kind, way.case.gpus, victims) is not None


def recall_early(table: Table, job: Job, gain_s: float) -> bool:
    """Before it is due: when those who could use the place one after the other wait longer than it costs."""
    for kind in table.kinds(job, sizes(job.request)[0]):
        want = _want(table, job).on(kind)
        if table.rules.stops_left <= 0 and not want.fits(table.board):
            continue
        case = Case(job, kind, table.rules, gpus=sizes(job.request)[0], recall=True)
        found = table.herd.seek(case, lambda run: ran_long(job, run, table.now, table.policy))
        if not found.candidates:
            continue
        made = make_place(table.board, want, found.candidates, chosen=Chosen(table.rules))
        if not isinstance(made, Making) or _harm_s(job, made) * table.policy.recall_worth > gain_s:
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


def _could_fit(table: Table, job: Job, kind: str, *, recall: bool) -> bool:
    """Whether it would have a place if everything went that any job of its tier may send away."""
    gone = table.herd.empties(table.board, job, kind, recall=recall)
    if gone is None or table.rules.stops_left <= 0:
        return False
    request = table.narrow(job.request, (kind,))
    return gone.holds(request, tier=job.tier, policy=table.policy, gpus=sizes(request)[0])


def _carry_out(table: Table, way: Way) -> None:
    job, made = way.case.job, way.making
    if not made.victims:
        return
    for victim, stop in zip(made.victims, stops(way), strict=True):
        table.stop(victim.run, stop)
    table.claim(job, Fit(made.placement, way.case.gpus), (one.run.job for one in made.victims), table.now)
