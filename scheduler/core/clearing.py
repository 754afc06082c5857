"""Ways to make room in a domain: node by node, or GPU by GPU wherever they are cheapest."""

from heapq import heapify, heappop, heappush

import numpy as np

from scheduler.core.attempt import Attempt
from scheduler.core.relief import Floats
from scheduler.core.shapes import Shape
from scheduler.core.tree import Ints

EXACT = 1 << 19  # candidates x GPUs up to which the cheapest sum is worked out
Span = tuple[int, int]  # positions from the first to before the second


class Prices:
    """Nodes by what it costs to bring them to a target, or a step further; worked out when they come up."""

    def __init__(
        self, attempt: Attempt, floors: Floats, span: Span, *, target: int = 0, step: int = 0
    ) -> None:
        self.attempt, self.span, self.target, self.step = attempt, span, target, step
        self.done: set[int] = set()
        self.short = 1  # no step is worth more than what is missing
        self._turn: dict[int, int] = {}  # how often a node's price has changed
        self._known: dict[int, tuple[list[int], float, int]] = {}  # whom to stop, at which cost, for how much
        part = floors[span[0] : span[1]]
        able = np.flatnonzero(part < np.inf)
        self._heap = [(float(part[i]), span[0] + int(i), -1) for i in able]
        heapify(self._heap)

    def cheapest(self) -> tuple[int, list[int]] | None:
        """The node whose next step costs least, and whom to stop for it."""
        while self._heap:
            price, position, age = heappop(self._heap)
            if position in self.done:
                continue
            if age != self._turn.get(position, 0):
                self._work_out(position)
                continue
            bundle, cost, gain = self._known[position]
            if cost / min(gain, self.short) <= price:
                return position, bundle
            heappush(self._heap, (cost / min(gain, self.short), position, age))
        return None

    def _work_out(self, position: int) -> None:
        had = 0 if self.target else self.attempt.room(position)
        bundle = self.attempt.bundle(position, self.target or had + self.step)
        if bundle is not None:
            gain = 1 if self.target else self.attempt.room(position, bundle) - had
            held = dict(self.attempt.relief.on(position))
            cost = sum(self.attempt.price(number, held[number]) for number in bundle)
            self._known[position] = bundle, cost, gain
            heappush(self._heap, (cost / min(gain, self.short), position, self._turn.get(position, 0)))

    def gone(self, bundle: list[int]) -> list[int]:
        """They were picked: what their other nodes cost has changed. Returns all nodes they are on."""
        touched = [p for number in bundle for p in self.attempt.relief.nodes_of(number)]
        for position in touched:
            if position not in self.done and self.span[0] <= position < self.span[1]:
                self._turn[position] = self._turn.get(position, 0) + 1
                heappush(self._heap, (0.0, position, -1))
        return touched


def clear_shape(attempt: Attempt, span: Span, shape: Shape) -> bool:
    """Room for so many nodes of one size and a rest: the cheapest nodes first."""
    done: set[int] = set()
    for count, target in ((shape.nodes, shape.size), (1, shape.rest)):
        if not target:
            continue
        floors = attempt.relief.floors(target, shared=attempt.shared)
        prices = Prices(attempt, floors, span, target=target)
        prices.done = done
        while count:
            found = prices.cheapest()
            if found is None:
                return False
            if attempt.pick(found[1]):
                done.add(found[0])
                prices.gone(found[1])
                count -= 1
    return True


def clear_groups(attempt: Attempt, span: Span, gpus: int) -> bool:
    """Room for GPUs in whole groups: wherever the next group is cheapest."""
    relief = attempt.relief
    step = relief.ground.traits.tp
    prices = Prices(attempt, relief.floors_of_step(step, shared=attempt.shared), span, step=step)
    rooms = relief.now[span[0] : span[1]].copy()
    while (short := gpus - int(rooms.sum())) > 0:
        prices.short = short
        found = prices.cheapest()
        if found is None:
            return False
        if attempt.pick(found[1]):
            for position in prices.gone(found[1]):
                if span[0] <= position < span[1]:
                    rooms[position - span[0]] = attempt.room(position)
    return True


def clear_gpus(attempt: Attempt, span: Span, gpus: int) -> bool:
    """Room for GPUs on any nodes: the cheapest sum where that is soon worked out, else the cheapest GPU first."""
    relief = attempt.relief
    short = gpus - int(relief.now[span[0] : span[1]].sum())
    if short <= 0:
        return True
    who, useful = relief.within(*span)
    attempt.purse.pay(len(who))
    cost = relief.cost[who]
    if len(who) * short <= EXACT and useful.sum() >= short:
        best = [int(who[i]) for i in cheapest_sum(cost, useful, short)]
        if attempt.pick(best):
            return True
    for i in np.lexsort((who, cost / np.minimum(useful, short))):
        if attempt.pick((int(who[i]),)):
            short -= int(useful[i])
            if short <= 0:
                return True
    return False


def cheapest_sum(cost: Floats, useful: Ints, short: int) -> list[int]:
    """Which of them free `short` GPUs or more at the least cost in all: every sum, the cheapest way to each."""
    best = np.full(short + 1, np.inf)
    best[0] = 0.0
    taken = np.zeros((len(cost), short + 1), dtype=np.bool_)
    for i, (price, gpus) in enumerate(zip(cost.tolist(), useful.tolist(), strict=True)):
        gpus = min(gpus, short)
        with_it = np.concatenate((np.full(gpus, best[0]), best[: short + 1 - gpus])) + price
        taken[i] = with_it < best
        best = np.minimum(best, with_it)
    found: list[int] = []
    for i in range(len(cost) - 1, -1, -1):
        if short > 0 and taken[i, short]:
            found.append(i)
            short = max(0, short - int(useful[i]))
    return found
