"""A place for a job by stopping others, least harm first: reclaim, then recall, then preempt a lower tier."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.core.board import Board, Placement
from scheduler.core.candidates import Candidate, Chosen, Found, seek
from scheduler.core.maystop import Case
from scheduler.core.model import Running
from scheduler.core.quota import Books
from scheduler.core.verbs import Why
from scheduler.core.victims import STEPS, Exhausted, Making, make_place
from scheduler.core.want import Want

HARM = ((Why.RECLAIMED,), (Why.RECLAIMED, Why.RECALLED), tuple(Why))


@dataclass(frozen=True, slots=True)
class Way:
    """How a place can be made for a job, and all that was looked at for it."""

    case: Case
    making: Making
    found: Found


def find_way(
    case: Case,
    board: Board,
    want: Want,
    running: Collection[Running],
    *,
    found: Found | None = None,
    steps: int = STEPS,
) -> Way | Exhausted | None:
    """The least harmful way to a place on GPUs of the case's type; None: the rules allow none.

    Of equal costs the earlier of `running` goes first. `found` is what the rules say of them, where that
    is known already.
    """
    found, want = found or seek(case, running), want.on(case.kind)
    owed = _owed(case, case.rules.books)
    way = None
    # Where a level above is at its limit, its own may still be with a sister that borrowed it.
    if case.may_be_owed() or case.may_stay() or case.may_start(case.rules.books):
        way = _least_harm(case, board, want, (found, steps))
    if isinstance(way, Way) or owed:
        return way
    return _own_first(case, board, want, (found, running, steps)) or way


def _owed(case: Case, books: Books) -> bool:
    return case.own is not None and books.stays_inside(case.job.team, case.kind, case.gpus)


def _least_harm(case: Case, board: Board, want: Want, known: tuple[Found, int]) -> Way | Exhausted | None:
    """Who borrowed before who ran ahead before who is of a lower tier, even where that costs more work."""
    found, steps = known
    ended: Exhausted | None = None
    tried = -1
    for allowed in HARM:
        candidates = [one for one in found.candidates if one.why in allowed]
        if len(candidates) == tried:
            continue
        tried = len(candidates)
        making = make_place(board, want, candidates, chosen=Chosen(case.rules), steps=steps)
        if isinstance(making, Making):
            making = _with_quota(case, making, candidates)
        if isinstance(making, Making):
            return Way(case, making, found)
        ended = making or ended
    return ended


def _with_quota(case: Case, making: Making, candidates: Iterable[Candidate]) -> Making | None:
    """The same with those who must go besides, because others keep what is free; None = quota would still refuse."""
    books, chosen = _without(case, making.victims), Chosen(case.rules)
    more: list[Candidate] = []
    if not chosen.admit_all(making.victims):
        return None
    rest = [one for one in candidates if one not in making.victims]
    for one in sorted(rest, key=lambda one: one.cost / one.gpus):
        if case.may_start(books):
            break
        if chosen.admit_all((one,)):
            more.append(one)
            books.gone(one.run)
    if not case.may_start(books):
        return None
    for one in sorted(more, key=lambda one: -one.cost):
        books.stays(one.run)
        if case.may_start(books):
            more.remove(one)
        else:
            books.gone(one.run)
    cost = making.cost + sum(one.cost for one in more)
    return replace(making, victims=(*making.victims, *more), cost=cost)


def _own_first(
    case: Case, board: Board, want: Want, known: tuple[Found, Collection[Running], int]
) -> Way | Exhausted | None:
    """Lower tiers of its own team make room in the quota; with that the job may have what others borrowed."""
    found, running, steps = known
    own = _free_quota(case, [one for one in found.candidates if case.same_team(one.run)])
    if own is None:
        return None
    rules = case.rules.after(one.run for one in own)
    after = Case(case.job, case.kind, rules, gpus=case.gpus, recall=case.recall)
    gone = {one.run.job for one in own}
    rest, empty = [run for run in running if run.job not in gone], board.copy()
    for one in own:
        empty.give(one.run.seats, one.run.request)
    way = _least_harm(after, empty, want, (seek(after, rest, passed=False), steps))
    if not isinstance(way, Way):
        return way
    kept = _still_needed(case, own, way.making)
    if kept is None:
        return None
    victims, cost = (*kept, *way.making.victims), way.making.cost + sum(one.cost for one in kept)
    return Way(case, replace(way.making, victims=victims, cost=cost), found)


def _still_needed(case: Case, own: Sequence[Candidate], made: Making) -> list[Candidate] | None:
    """Those of its own team whose place it takes, or without whose end quota forbids the start.

    None: the rules let others go only for a job inside its nominal, and then somebody would go for that alone.
    """
    others = any(not case.same_team(one.run) for one in made.victims)
    kept = list(own)
    for one in sorted(own, key=lambda one: -one.cost):
        rest = [other for other in kept if other is not one]
        if _used(one.run, made.placement) or not case.may_start(_without(case, (*rest, *made.victims))):
            continue
        if others and not _owed(case, _without(case, rest)):
            return None
        kept = rest
    return kept


def _without(case: Case, gone: Iterable[Candidate]) -> Books:
    books = case.rules.books.copy()
    for one in gone:
        books.gone(one.run)
    return books


def _free_quota(case: Case, own: Sequence[Candidate]) -> list[Candidate] | None:
    """The cheapest of its own team whose end brings the job inside its nominal, or at least under its limit."""
    by_gpu = sorted(own, key=lambda one: one.cost / one.gpus)
    ways = [_enough(case, order) for order in (by_gpu, sorted(own, key=lambda one: one.cost))]
    return min(
        (way for way in ways if way is not None), key=lambda way: sum(one.cost for one in way), default=None
    )


def _enough(case: Case, order: Iterable[Candidate]) -> list[Candidate] | None:
    """One after the other until quota is satisfied; then back, and nobody stays who is not needed."""
    inside_only = case.may_start(case.rules.books)

    def satisfied(books: Books) -> bool:
        return _owed(case, books) or (not inside_only and case.may_start(books))

    books, chosen, gone = case.rules.books.copy(), Chosen(case.rules), list[Candidate]()
    for one in order:
        if satisfied(books):
            break
        if chosen.admit_all((one,)):
            gone.append(one)
            books.gone(one.run)
    if not satisfied(books):
        return None
    for one in sorted(gone, key=lambda one: -one.cost):
        books.stays(one.run)
        if satisfied(books):
            gone.remove(one)
        else:
            books.gone(one.run)
    return gone


def _used(run: Running, placement: Placement) -> bool:
    """Whether the placement sits where this run sat."""
    taken = {(seat.node, slot) for seat in placement.seats for slot in seat.slots}
    return any((seat.node, slot) in taken for seat in run.seats for slot in seat.slots)
