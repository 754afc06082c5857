"""What each candidate would free, on the nodes that may serve a request: arrays by position of one tree."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.core.board import Board
from scheduler.core.burden import Needs, each_gpu
from scheduler.core.candidates import Candidate
from scheduler.core.ground import Ground
from scheduler.core.tree import Depth, Ints

Floats = NDArray[np.float64]


class Crowd:
    """Every working GPU that candidates hold: whose it is, in which row, in which slot."""

    def __init__(self, board: Board, candidates: Sequence[Candidate]) -> None:
        self.board, self.candidates = board, candidates
        who: list[int] = []
        row: list[int] = []
        many: list[int] = []
        slot: list[int] = []
        at = board.layout.row
        for number, one in enumerate(candidates):
            for seat in one.run.seats:
                if seat.node not in at:
                    continue
                who.append(number)
                row.append(at[seat.node])
                many.append(len(seat.slots))
                slot += seat.slots
        self.slot: Ints = np.array(slot, dtype=np.int64)
        self.row: Ints = np.repeat(np.array(row, dtype=np.int64), many)
        self.who: Ints = np.repeat(np.array(who, dtype=np.int64), many)
        works = board.works[self.row, self.slot]
        self.slot, self.row, self.who = self.slot[works], self.row[works], self.who[works]

    def gone(self) -> Board:
        """The board with all of them gone: a few array operations, however many they are."""
        board, burden = self.board, self.board.burden.copy()
        for one in self.candidates:
            if needs := each_gpu(one.run.request, firm=False):
                for seat in one.run.seats:
                    row = board.layout.row.get(seat.node)
                    if row is not None:
                        burden.add(row, -int(board.works[row, list(seat.slots)].sum()), needs)
        free = board.free.copy()
        free[self.row, self.slot] = True
        empty = Board(board.layout, free, burden)
        empty.meter = board.meter
        return empty


class Seated(NamedTuple):
    """A node as it is, and what each candidate on it would leave: slots, and what it needs beside each GPU."""

    free: list[bool]
    used: list[int]  # CPUs, memory and scratch, in thousandths
    runs: list[tuple[int, list[int], Needs]]


class Relief:
    """One entry for each candidate and able node where it would help: where, who, how many GPUs."""

    def __init__(self, crowd: Crowd, empty: Board, ground: Ground) -> None:
        self._board = board = crowd.board
        self.ground, self.tree, self.candidates = ground, ground.tree, crowd.candidates
        self.free: Ints = board.free[ground.tree.rows].sum(axis=1, dtype=np.int64)
        self.now: Ints = board.tally(ground).free[Depth.NODE].copy()
        self.all: Ints = empty.tally(ground).free[Depth.NODE].copy()
        self.cost: Floats = np.array([one.cost for one in crowd.candidates], dtype=np.float64)
        self.gangs: Ints = np.array([one.gpus for one in crowd.candidates], dtype=np.int64)
        position = np.array(board.layout.position, dtype=np.int64)[crowd.row]
        helps = (position >= 0) & (self.all > self.now)[position]
        many = max(1, len(crowd.candidates))
        keys, self.gpus = np.unique(position[helps] * many + crowd.who[helps], return_counts=True)
        self.at, self.who = np.divmod(keys, many)
        starts = np.searchsorted(self.at, np.arange(len(self.tree.nodes) + 1))
        self.first: list[int] = starts.tolist()  # entries of a position: first[p] to first[p + 1]
        self._on: dict[int, list[tuple[int, int]]] = {}
        self._seated: dict[int, Seated] = {}
        self._floors: dict[tuple[int, bool], Floats] = {}

    def on(self, position: int) -> list[tuple[int, int]]:
        """The candidates on a node, and how many GPUs of it each holds."""
        if position not in self._on:
            span = slice(self.first[position], self.first[position + 1])
            self._on[position] = list(zip(self.who[span].tolist(), self.gpus[span].tolist(), strict=True))
        return self._on[position]

    def seated(self, position: int) -> Seated:
        """What decides how much room a node has when some of them are gone; worked out once."""
        if position not in self._seated:
            row, board = int(self.tree.rows[position]), self._board
            node, free, works = (
                self.tree.nodes[position].id,
                board.free[row].tolist(),
                board.works[row].tolist(),
            )
            runs: list[tuple[int, list[int], Needs]] = []
            for number, _ in self.on(position):
                run = self.candidates[number].run
                slots = [slot for seat in run.seats if seat.node == node for slot in seat.slots]
                freed = [slot for slot in slots if works[slot] and not free[slot]]
                runs.append((number, freed, each_gpu(run.request, firm=False)))
            self._seated[position] = Seated(free, board.burden.used[:3, row].tolist(), runs)
        return self._seated[position]

    def nodes_of(self, number: int) -> list[int]:
        """The positions where a candidate would help."""
        found: list[int] = self._by_candidate[0][slice(*self._by_candidate[1][number : number + 2])].tolist()
        return found

    @cached_property
    def _by_candidate(self) -> tuple[Ints, list[int]]:
        """The positions of all entries sorted by candidate, and where those of each begin."""
        order = np.argsort(self.who, kind="stable")
        starts = np.searchsorted(self.who[order], np.arange(len(self.candidates) + 1))
        return self.at[order], starts.tolist()

    def within(self, low: int, high: int) -> tuple[Ints, Ints]:
        """The candidates that would help on the positions from low to high, and with how many GPUs there."""
        span = slice(self.first[low], self.first[high])
        useful = np.bincount(self.who[span], weights=self.gpus[span], minlength=len(self.cost))
        who = np.flatnonzero(useful)
        return who, useful[who].astype(np.int64)

    def floors(self, target: int, *, shared: bool = False) -> Floats:
        """A cost that making room for `target` cannot undercut, by position; infinite where it cannot be made.

        `shared`: a gang that frees several nodes counts on each with its part only.
        """
        if (target, shared) not in self._floors:
            self._floors[target, shared] = self._floor(target, shared=shared)
        return self._floors[target, shared]

    def _floor(self, target: int, *, shared: bool) -> Floats:
        price = self.cost[self.who] / (self.gangs[self.who] if shared else self.gpus)
        order = np.lexsort((price, self.at))
        price, gpus = price[order], self.gpus[order]
        before = np.cumsum(gpus) - gpus
        before -= before[np.array(self.first, dtype=np.int64)[self.at]]
        short = np.maximum(target - self.free, 0)[self.at]
        used = np.clip(short - before, 0, gpus)  # the cheapest of each node first, the last in part
        floor = np.bincount(self.at, weights=used * price, minlength=len(self.now))
        return np.where(self.all >= target, floor, np.inf)

    def floor_of_sum(self, low: int, high: int, gpus: int) -> float:
        """The same for so many GPUs on any of the positions from low to high."""
        if self.all[low:high].sum() < gpus:
            return np.inf
        who, useful = self.within(low, high)
        price = self.cost[who] / useful
        order = np.argsort(price, kind="stable")
        price, useful = price[order], useful[order]
        short = gpus - int(self.free[low:high].sum())
        used = np.clip(short - (np.cumsum(useful) - useful), 0, useful)
        return float((used * price).sum())

    def floors_of_shape(self, depth: Depth, nodes: int, size: int) -> Floats:
        """The same for so many nodes with room for `size`, by domain of a level."""
        floors = self.floors(size, shared=depth > Depth.NODE)
        if depth is Depth.NODE:
            return floors
        span = self.tree.levels[depth].span
        found = np.full(len(span) - 1, np.inf)
        for domain, (low, high) in enumerate(pairwise(span)):
            if high - low >= nodes:
                found[domain] = np.sort(floors[low:high])[:nodes].sum()
        return found

    def fewest(self, depth: Depth, gpus: int) -> int:
        """So many must go at least for so many GPUs in one domain of a level: the largest there first."""
        level, many = self.tree.levels[depth], max(1, len(self.candidates))
        keys, entry = np.unique(level.domain[self.at] * many + self.who, return_inverse=True)
        domain, useful = keys // many, np.bincount(entry, weights=self.gpus, minlength=len(keys))
        order = np.lexsort((-useful, domain))
        domain, useful = domain[order], useful[order]
        upto = np.cumsum(useful)
        before = upto - useful
        before -= before[np.searchsorted(domain, domain)]
        short = gpus - np.bincount(level.domain, weights=self.free, minlength=len(level))
        needed = np.bincount(domain, weights=before < short[domain], minlength=len(level))
        freed = np.bincount(domain, weights=useful, minlength=len(level))
        possible = needed[freed >= short]
        return int(possible.min()) if len(possible) else many

    def floors_of_step(self, step: int, *, shared: bool) -> Floats:
        """What a GPU cannot undercut where a node makes room for one group more; infinite where it cannot.

        Whoever goes, each GPU freed costs at least as much as the cheapest one there. Beside it a group may
        take GPUs that are free already and had been too few, or had no CPUs.
        """
        price = self.cost[self.who] / (self.gangs[self.who] if shared else self.gpus)
        least = np.full(len(self.now), np.inf)
        np.minimum.at(least, self.at, price)
        stray = np.maximum(self.free - self.now, 0)
        freed = np.maximum(step - stray, 1)
        # A hair less: the sum may be rounded down where this is not.
        return np.where(self.all > self.now, least * freed / (freed + stray) * (1 - 1e-9), np.inf)
