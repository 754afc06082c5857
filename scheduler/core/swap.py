"""Gangs that lost nodes or GPUs: other seats for only those that are lost, as near as can be to the rest."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor

import numpy as np

from scheduler.core import seats
from scheduler.core.board import Board
from scheduler.core.ground import Ground
from scheduler.core.model import Lost, Running, Seat
from scheduler.core.policy import Policy
from scheduler.core.shapes import LEVELS
from scheduler.core.tree import Bools, Depth, Ints
from scheduler.core.verbs import Swap
from scheduler.core.want import Want


@dataclass(frozen=True, slots=True)
class Mended:
    """Seats to swap, and the jobs that must start again because nothing can replace what they lost."""

    swaps: tuple[Swap, ...]
    restarts: tuple[int, ...]


def _none(_run: Running) -> Sequence[Seat]:
    return ()


def mend(
    board: Board,
    lost: Iterable[Lost],
    running: Mapping[int, Running],
    policy: Policy,
    *,
    shut: Callable[[Running], Sequence[Seat]] = _none,
) -> Mended:
    """Higher tiers first, then who came first. The board keeps what is taken and what comes back.

    Only free seats: whoever would have to be stopped first takes longer than the gang may stay broken. Nor
    seats that are `shut` to a run, because they close before it ends. A job that starts again has the same right to a place as everybody, by stops too.
    """
    hurt = [(running[one.job], one) for one in lost if one.job in running]
    hurt.sort(key=lambda pair: (-pair[0].tier, pair[0].submitted_at, pair[0].job))
    swaps: list[Swap] = []
    restarts: list[int] = []
    for run, one in hurt:
        found = _Gang(board, run, one, policy).swaps(shut(run))
        if found is None:
            restarts.append(run.job)
        else:
            swaps += found
    return Mended(tuple(swaps), tuple(restarts))


class _Gang:
    """One gang and what it lost."""

    def __init__(self, board: Board, run: Running, lost: Lost, policy: Policy) -> None:
        self.board, self.run = board, run
        gone = {seat.node: set(seat.slots) for seat in lost.seats}
        self.out = sorted(
            (seat for seat in run.seats if seat.node in gone), key=lambda seat: -len(seat.slots)
        )
        self.stay = [seat for seat in run.seats if seat.node not in gone]
        self.at = [_position(board, seat) for seat in self.stay]
        # What still works of a seat that lost some of its GPUs is given back with it, and may be used again.
        self.rest = [
            replace(seat, slots=tuple(slot for slot in seat.slots if slot not in gone[seat.node]))
            for seat in self.out
        ]
        want = Want(run.request, run.tier, policy, gpus=run.gpus).on(run.gpu_type)
        grounds = want.query(board.layout).grounds
        self.ground: Ground | None = grounds[0] if grounds else None

    def swaps(self, shut: Sequence[Seat]) -> list[Swap] | None:
        """A seat for each that is lost, taken on the board; None where one of them has no replacement."""
        if self.ground is None:
            return None
        for domain in self._domains(self.ground):
            trial = self.board.without(shut)
            trial.give(self.rest, self.run.request)
            found = self._inside(self.ground, trial, domain)
            if found is not None:
                self.board.give(self.rest, self.run.request)
                self.board.take(
                    (swap.into for swap in found), self.run.request, firm=not self.run.preemptible
                )
                return found
        return None

    def _domains(self, ground: Ground) -> Iterator[Bools]:
        """Where replacements may sit: a cluster is a wall, and a required level is one too."""
        request, levels = self.run.request, ground.tree.levels
        depth = LEVELS[request.level] if request.required else Depth.CLUSTER
        of_node, span = levels[depth].domain, levels[depth].span
        if self.at:
            yield of_node == of_node[self.at[0]]
        else:
            for low, high in pairwise(span):
                yield (np.arange(len(of_node)) >= low) & (np.arange(len(of_node)) < high)

    def _inside(self, ground: Ground, trial: Board, domain: Bools) -> list[Swap] | None:
        taken = self.at.copy()
        spot_left = floor(self.run.request.spot_share * self.run.gpus + 1e-9)
        spot_left -= sum(
            len(seat.slots) for seat, at in zip(self.stay, self.at, strict=True) if ground.field.spot[at]
        )
        found: list[Swap] = []
        for seat in self.out:
            able = domain & (trial.tally(ground).free[Depth.NODE] >= len(seat.slots))
            able[taken] = False
            if len(seat.slots) > spot_left:
                able &= ~ground.field.spot
            if not able.any():
                return None
            best = self._nearest(ground, trial, able, (seat, taken))
            into = _seat(trial, ground, best, len(seat.slots))
            trial.take((into,), self.run.request)
            taken.append(best)
            spot_left -= len(seat.slots) if ground.field.spot[best] else 0
            found.append(Swap(self.run.job, seat, into))
        return found

    def _nearest(self, ground: Ground, trial: Board, able: Bools, known: tuple[Seat, list[int]]) -> int:
        """The same node, sound nodes, the narrowest domain with the rest, the tightest room: in this order."""
        seat, taken = known
        here = _position(trial, seat)
        near = taken or [here] * (here >= 0)
        room = trial.tally(ground).free[Depth.NODE]
        keys = (room, _widths(ground, near), ground.rank, np.arange(len(able)) != here)
        order = np.lexsort(tuple(key[able] for key in keys))
        return int(np.flatnonzero(able)[order[0]])


def _position(board: Board, seat: Seat) -> int:
    """On the tree of its type; -1 = its node is no part of the cluster any more."""
    row = board.layout.row.get(seat.node)
    return -1 if row is None else board.layout.position[row]


def _widths(ground: Ground, taken: list[int]) -> Ints:
    """By position: how wide the gang becomes with it; of equals, whether it shares a rack with the gang."""
    width = np.full(len(ground.able), Depth.CLUSTER * 2 + 2, dtype=np.int64)
    if not taken:
        return width
    for depth in reversed(Depth):
        domain = ground.tree.levels[depth].domain
        width[(domain == domain[min(taken)]) & (domain == domain[max(taken)])] = depth * 2
    racks = ground.tree.levels[Depth.RACK].domain
    return width + ~np.isin(racks, racks[taken])


def _seat(board: Board, ground: Ground, position: int, gpus: int) -> Seat:
    node = ground.tree.nodes[position]
    free = board.free[ground.tree.rows[position]].tolist()
    return Seat(node.id, seats.choose(free, node.nvlink, gpus, ground.traits.tp))
