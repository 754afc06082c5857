"""The cheapest set of runs to stop so that a gang has a place, and not one more than it needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scheduler.core.attempt import Attempt, Purse, Spent
from scheduler.core.board import Board, Placement
from scheduler.core.candidates import Candidate, Chosen
from scheduler.core.clearing import Span, clear_gpus, clear_groups, clear_shape
from scheduler.core.ground import Ground
from scheduler.core.layout import Query
from scheduler.core.relief import Crowd, Relief
from scheduler.core.shapes import Shape, whole
from scheduler.core.tree import Depth
from scheduler.core.want import Want

TIDY = 1.1  # a narrower place may cost a tenth more than the cheapest one
STEPS = 2_000_000
DOMAINS = 12  # looked into at one level once some way is known; the most promising come first
REJECTED = 5


@dataclass(frozen=True, slots=True)
class Option:
    """A set of victims that was found, and how narrow a place it was looked for in."""

    cost: float
    depth: Depth
    victims: tuple[Candidate, ...]

    @property
    def jobs(self) -> tuple[int, ...]:
        """Whom it would stop."""
        return tuple(sorted(one.run.job for one in self.victims))


@dataclass(frozen=True, slots=True)
class Making:
    """A place that can be made: where, by stopping whom, at which cost in GPU-seconds; and what was rejected."""

    placement: Placement
    victims: tuple[Candidate, ...]
    cost: float
    rejected: tuple[Option, ...] = ()
    complete: bool = True  # False: the search ran out of steps; there may be a cheaper way


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Stopping all would do, but the search ran out of steps or of stops that it may make: there may be a way."""

    limit: str  # "steps" or "stops"
    steps: int  # looked at


@dataclass(frozen=True, slots=True)
class Goal:
    """Room of a shape, or for GPUs on any nodes where it is None, inside one domain of a level."""

    depth: Depth
    shape: Shape | None

    @property
    def is_wide(self) -> bool:
        """Whether gangs on several nodes matter."""
        return self.shape is not None and self.shape.seats > 1


def make_place(
    board: Board,
    want: Want,
    candidates: Sequence[Candidate],
    *,
    chosen: Chosen | None = None,
    steps: int = STEPS,
) -> Making | Exhausted | None:
    """The cheapest placeable set of whole gangs; None: not even stopping all of them makes a place.

    `want` names one GPU type, and the candidates hold GPUs of it; on the board all that is held for
    others is taken. `chosen` knows which of them may go together, and how many.
    """
    before, crowd = board.steps, Crowd(board, candidates)
    empty, query = crowd.gone(), want.query(board.layout)
    if not want.fits(empty):
        return None
    relief = Relief(crowd, empty, query.grounds[0])
    chosen = chosen or Chosen()
    if relief.fewest(query.reach, query.gpus) > chosen.left:
        return Exhausted("stops", board.steps - before)
    search = Search(board, want, relief, (chosen, Purse(board, steps)))
    try:
        for goal in goals(query, relief.ground):
            search.look(goal)
    except Spent:
        search.complete = False
    if search.found:
        return _best(board, want, search.found, complete=search.complete)
    return Exhausted("stops" if search.complete else "steps", board.steps - before)


def goals(query: Query, ground: Ground) -> list[Goal]:
    """What to look for, the narrowest place first."""
    depths = [depth for depth in (Depth.RACK, Depth.BLOCK, Depth.CLUSTER) if depth <= query.reach]
    if query.shape is not None:
        alone = query.shape.seats == 1
        return [Goal(Depth.NODE, query.shape)] if alone else [Goal(depth, query.shape) for depth in depths]
    anyhow = [Goal(query.reach, None)] if depths and query.gpus > ground.traits.tp else []
    if query.gpus <= ground.widths[0]:
        return [Goal(Depth.NODE, Shape(1, query.gpus)), *anyhow]
    return [*(Goal(depth, whole(query.gpus, ground.widths[0])) for depth in depths), *anyhow]


def _best(board: Board, want: Want, found: Sequence[Option], *, complete: bool) -> Making:
    """The narrowest of those that cost little more than the cheapest."""
    least = min(option.cost for option in found)
    tidy = [option for option in found if option.cost <= TIDY * least]
    best = min(tidy, key=lambda option: (option.depth, option.cost))
    after = board.copy()
    for one in best.victims:
        after.give(one.run.seats, one.run.request)
    placement = want.place(after)
    if placement is None:
        raise AssertionError("a place that was tested is not there")
    others = {option.jobs: option for option in reversed(found) if option.jobs != best.jobs}
    rejected = sorted(others.values(), key=lambda option: (option.cost, option.jobs))[:REJECTED]
    return Making(placement, best.victims, best.cost, tuple(rejected), complete)


class Search:
    """Domain by domain, the most promising first; what was found so far."""

    def __init__(self, board: Board, want: Want, relief: Relief, limits: tuple[Chosen, Purse]) -> None:
        self.board, self.want, self.relief = board, want, relief
        self.chosen, self.purse = limits
        self.found: list[Option] = []
        self.complete = True  # False: there are domains into which it did not look
        self._trial = board.copy()
        self._fits = want.fits(board)  # with nobody gone

    def look(self, goal: Goal) -> None:
        """Into every domain that could be cheaper than the cheapest so far; wider ones must be much cheaper."""
        least = min((option.cost / TIDY for option in self.found), default=np.inf)
        for looked, (floor, span) in enumerate(self._by_promise(goal)):
            if floor >= least:
                break
            if self.found and looked >= DOMAINS:
                self.complete = False
                break
            for shared in (False, True)[: 1 + goal.is_wide]:
                attempt = Attempt(self.board, self.relief, (self.chosen, self.purse), shared=shared)
                victims = self._settle(attempt, span) if self._clear(attempt, span, goal) else None
                if victims is not None:
                    self.found.append(Option(sum(one.cost for one in victims), goal.depth, tuple(victims)))
                    least = min(least, self.found[-1].cost)

    def _by_promise(self, goal: Goal) -> Iterator[tuple[float, Span]]:
        """The domains that could hold it, by a cost that none of them can undercut."""
        spans = self.relief.tree.levels[goal.depth].span
        if goal.shape is None:
            sums = [self.relief.floor_of_sum(*span, self.want.size) for span in pairwise(spans)]
            floors = np.array(sums)
        else:
            floors = self.relief.floors_of_shape(goal.depth, goal.shape.nodes, goal.shape.size)
        self.purse.pay(len(floors))
        for domain in np.argsort(floors, kind="stable").tolist():
            if floors[domain] < np.inf:
                yield float(floors[domain]), (spans[domain], spans[domain + 1])

    def _clear(self, attempt: Attempt, span: Span, goal: Goal) -> bool:
        if goal.shape is not None:
            return clear_shape(attempt, span, goal.shape)
        return (clear_gpus if attempt.plain else clear_groups)(attempt, span, self.want.size)

    def _settle(self, attempt: Attempt, span: Span) -> list[Candidate] | None:
        """Test it on the board, then walk back: the dearest first, and nobody stays who is not needed."""
        trial, gone = self._trial, list(attempt.picked.values())
        self.purse.pay(len(gone))
        for one in gone:
            trial.give(one.run.seats, one.run.request)
        gone += self._top_up(attempt, span)
        fits = self.want.fits(trial)
        for one in sorted(gone, key=lambda one: (-one.cost, one.run.job)) if fits else ():
            if len(gone) == 1 and not self._fits:
                break  # the last one is needed
            trial.take(one.run.seats, one.run.request)
            if self.want.fits(trial):
                gone.remove(one)
            else:
                trial.give(one.run.seats, one.run.request)
        for one in gone:
            trial.take(one.run.seats, one.run.request)
        return gone if fits else None

    def _top_up(self, attempt: Attempt, span: Span) -> Iterator[Candidate]:
        """More of the cheapest, where the board asks for more than room (spot nodes, say)."""
        who, useful = self.relief.within(*span)
        for i in np.lexsort((who, self.relief.cost[who] / useful)):
            if self.want.fits(self._trial):
                return
            number = int(who[i])
            if number not in attempt.picked and attempt.pick((number,)):
                one = self.relief.candidates[number]
                self._trial.give(one.run.seats, one.run.request)
                yield one
