"""Moves: small runs make room for a gang that only scattered free GPUs keep waiting, and go on elsewhere at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.core.board import Board, Placement
from scheduler.core.candidates import Candidate, Chosen
from scheduler.core.cost import lost_work, unsaved_s
from scheduler.core.maystop import Rules, barred
from scheduler.core.model import Running
from scheduler.core.policy import HOUR
from scheduler.core.tree import Depth
from scheduler.core.verbs import Why
from scheduler.core.victims import Exhausted, Making, make_place
from scheduler.core.want import Want

MOST_WAIT_S = 4 * HOUR  # a place is worth no more than so much of the gang's waiting
STEPS = 200_000
TRIES = 8


Homes = Callable[[Running], Board]


class Floor(NamedTuple):
    """The board on which the gang may sit, and the one on which each run may go on that moves for it."""

    board: Board
    homes: Homes

    @classmethod
    def same(cls, board: Board) -> "Floor":
        """One board for all."""
        return cls(board, lambda _: board)


@dataclass(frozen=True, slots=True)
class Move:
    """A run that makes room, and where it goes on."""

    one: Candidate
    into: Placement


@dataclass(frozen=True, slots=True)
class Tidied:
    """A place for a gang, and the moves that make it; what they cost and what the place is worth, in GPU-seconds."""

    placement: Placement
    moves: tuple[Move, ...]
    cost: float
    worth: float


def consolidate(
    floor: Floor, want: Want, running: Iterable[Running], rules: Rules, *, wait_s: float, most: int
) -> Tidied | Exhausted | None:
    """A place for this gang of one GPU type by moving others, if that pays; None = not, or not so.

    `wait_s`: how long it would wait otherwise, as far as anybody knows. `most`: moves that are left this hour.
    """
    board = floor.board
    if most <= 0 or not scattered(board, want):
        return None
    candidates = [
        Candidate(run, lost_work(run, rules.now), Why.MOVED, gpus)
        for run in running
        if (gpus := run.gpus) < want.size and _movable(run, want, rules)
    ]
    worth = want.size * min(wait_s, MOST_WAIT_S)
    for _ in range(TRIES):
        making = make_place(board, want, candidates, chosen=Chosen(rules, most=most), steps=STEPS)
        if not isinstance(making, Making):
            return making
        if worth <= making.cost * rules.policy.move_safety:
            return None
        found = _reseat(floor.homes, want, making)
        if not isinstance(found, Candidate):
            return Tidied(making.placement, found, making.cost, worth)
        candidates.remove(found)  # no place for it elsewhere: try without moving it
    return None


def scattered(board: Board, want: Want) -> bool:
    """Whether enough GPUs are free for it, and yet it has no place: then moves can help."""
    grounds = want.query(board.layout).grounds
    free = max((int(board.tally(ground).free[Depth.NODE].sum()) for ground in grounds), default=0)
    return free >= want.size and not want.fits(board)


def _movable(run: Running, want: Want, rules: Rules) -> bool:
    """Of the gang's type, of no higher tier, and at a checkpoint: it saves when asked, or has just saved."""
    saves = run.checkpoints or unsaved_s(run, rules.now) <= run.restart_s
    below = run.gpu_type in want.request.gpu_types and run.tier <= want.tier
    return below and saves and barred(run, rules) is None


def _reseat(homes: Homes, want: Want, making: Making) -> tuple[Move, ...] | Candidate:
    """A new place for each run that moves, the largest first; or the first that finds none."""
    moves: list[Move] = []
    papers: dict[Board, Board] = {}
    for one in sorted(making.victims, key=lambda one: (-one.gpus, one.run.job)):
        run, board = one.run, homes(one.run)
        if board not in papers:
            papers[board] = _moved(board, want, making, moves)
        home = Want(run.request, run.tier, want.policy, gpus=one.gpus).on(run.gpu_type).place(papers[board])
        if home is None or len(home.seats) > len(run.seats):  # nobody is torn apart for others
            return one
        for paper in papers.values():
            paper.take(home.seats, run.request)
        moves.append(Move(one, home))
    return tuple(moves)


def _moved(board: Board, want: Want, making: Making, moves: Sequence[Move]) -> Board:
    """What a board looks like when the gang has its place, and these have theirs."""
    after = board.copy()
    for one in making.victims:
        after.give(one.run.seats, one.run.request)
    after.take(making.placement.seats, want.request, firm=want.firm)
    for move in moves:
        after.take(move.into.seats, move.one.run.request)
    return after
