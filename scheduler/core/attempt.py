"""A set of victims in the making: what it frees so far, and the cheapest way to free more on a node."""

from collections.abc import Iterable

from scheduler.core.board import Board
from scheduler.core.candidates import Candidate, Chosen
from scheduler.core.relief import Relief

LOOK = 4  # steps: to work out one node costs as much as a glance at so many


class Spent(Exception):
    """The search has looked at as much as it may."""


class Purse:
    """How much a search may still look at: counted in steps, never in time."""

    def __init__(self, board: Board, steps: int) -> None:
        self._meter = board.meter
        self._limit = board.meter.steps + steps

    def pay(self, steps: int) -> None:
        """Count what was looked at; out of budget is out of the search."""
        self._meter.steps += steps
        if self._meter.steps > self._limit:
            raise Spent


class Attempt:
    """Candidates picked for one domain; they may all be stopped together."""

    def __init__(
        self, board: Board, relief: Relief, limits: tuple[Chosen, Purse], *, shared: bool = False
    ) -> None:
        """`shared`: a gang on several nodes counts on each with its part, so that who clears many looks cheap."""
        self.board, self.relief, self.shared = board, relief, shared
        chosen, self.purse = limits
        self.chosen = chosen.copy()
        self.picked: dict[int, Candidate] = {}
        self.plain = relief.ground.traits.tp == 1 and not any(relief.ground.traits.per_gpu)

    def pick(self, numbers: Iterable[int]) -> bool:
        """Take them all or, where they may not go together with those picked, none."""
        wanted = {number: self.relief.candidates[number] for number in numbers}
        if not self.chosen.admit_all(wanted.values()):
            return False
        self.picked.update(wanted)
        return True

    def price(self, number: int, gpus: int) -> float:
        """What a candidate costs who holds so many GPUs of a node."""
        one = self.relief.candidates[number]
        return one.cost * gpus / one.gpus if self.shared else one.cost

    def room(self, position: int, more: Iterable[int] = ()) -> int:
        """What a node can give once those picked, and these, are gone."""
        also, picked = set(more), self.picked
        if self.plain:
            gone = (gpus for n, gpus in self.relief.on(position) if n in picked or n in also)
            return int(self.relief.now[position]) + sum(gone)
        there = self.relief.seated(position)
        free, used = there.free.copy(), there.used.copy()
        for number, slots, needs in there.runs:
            if number in picked or number in also:
                for slot in slots:
                    free[slot] = True
                for kind, amount in needs:
                    used[kind] -= amount * len(slots)
        return self.relief.ground.room(position, free, used)

    def bundle(self, position: int, target: int) -> list[int] | None:
        """The cheapest candidates to stop so that a node has room for `target`; None = it cannot be made."""
        items = [(n, gpus) for n, gpus in self.relief.on(position) if n not in self.picked]
        items = [(n, gpus) for n, gpus in items if self.chosen.admits(self.relief.candidates[n])]
        self.purse.pay(1 + len(items))
        if not items:
            return [] if self.room(position) >= target else None
        if self.plain:
            best = self._cover(items, target - self.room(position))
            if best is None or self._together(best):
                return best
        return self._step_by_step(position, items, target)

    def _together(self, numbers: list[int]) -> bool:
        if len(numbers) > 1:
            trial = self.chosen.copy()
            return trial.admit_all(self.relief.candidates[number] for number in numbers)
        return True

    def _cover(self, items: list[tuple[int, int]], short: int) -> list[int] | None:
        """The least cost that frees at least `short` GPUs of one node: every sum, the cheapest way to each."""
        ways: list[tuple[float, tuple[int, ...]] | None] = [(0.0, ()), *[None] * max(0, short)]
        for number, gpus in items:
            cost = self.price(number, gpus)
            for freed in range(short, 0, -1):
                before = ways[max(0, freed - gpus)]
                if before is None:
                    continue
                now = ways[freed]
                if now is None or before[0] + cost < now[0]:
                    ways[freed] = (before[0] + cost, (*before[1], number))
        best = ways[-1]
        return None if best is None else list(best[1])

    def _step_by_step(self, position: int, items: list[tuple[int, int]], target: int) -> list[int] | None:
        """The cheapest GPU first, or the cheapest run first, whichever comes to less."""
        prices = {number: self.price(number, gpus) for number, gpus in items}
        orders = (
            sorted(items, key=lambda item: (prices[item[0]] / item[1], item[0])),
            sorted(items, key=lambda item: (prices[item[0]], item[0])),
        )
        ways = [self._in_order(position, [number for number, _ in order], target) for order in orders]
        return min(
            (way for way in ways if way is not None),
            key=lambda way: sum(prices[n] for n in way),
            default=None,
        )

    def _in_order(self, position: int, numbers: list[int], target: int) -> list[int] | None:
        """One after the other until there is room; then back, and nobody stays who is not needed."""
        candidates, trial = self.relief.candidates, self.chosen.copy()
        taken: list[int] = []
        while self._look(position, taken) < target:
            if not numbers:
                return None
            number, *numbers = numbers
            if trial.admits(candidates[number]):
                trial.add(candidates[number])
                taken.append(number)
        for number in sorted(taken, key=lambda n: (-candidates[n].cost, n)):
            rest = [other for other in taken if other != number]
            if self._look(position, rest) >= target:
                taken = rest
        return taken

    def _look(self, position: int, gone: list[int]) -> int:
        self.purse.pay(LOOK)
        return self.room(position, gone)
