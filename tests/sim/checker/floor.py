"""Free GPUs on a cluster of equal nodes: what fits, where the reference policies would sit, and when a gang will fit."""

from collections.abc import Iterable
from math import inf

from tests.sim.checker.case import Case, Seats


class Floor:
    """Free GPUs by node, and how many nodes have how many."""

    def __init__(self, case: Case) -> None:
        self.size = next(iter(case.nodes.values())).gpus
        self.free = dict.fromkeys(sorted(case.nodes), self.size)
        self.nodes_with = [0] * self.size + [len(self.free)]

    def take(self, seats: Seats) -> None:
        self._count(seats, -1)

    def give(self, seats: Seats) -> None:
        self._count(seats, +1)

    def _count(self, seats: Seats, sign: int) -> None:
        for node, gpus in seats.items():
            after = min(self.size, max(0, self.free[node] + sign * len(gpus)))
            self.nodes_with[self.free[node]] -= 1
            self.nodes_with[after] += 1
            self.free[node] = after

    def fits(self, gpus: int) -> bool:
        return _fits(self.nodes_with, self.size, gpus)

    def misplaced(self, gpus: int, seats: Seats) -> str:
        """What is wrong with these seats, which are not taken yet."""
        right = self._place(gpus)
        sits = {node: len(held) for node, held in seats.items()}
        return (
            "" if right in ({}, sits) else f"sits on {_short(sits)}; its place by the rule is {_short(right)}"
        )

    def _place(self, gpus: int) -> dict[str, int]:
        """Names are in order, and min and max take the first of equals."""
        if gpus <= self.size:
            fitting = [node for node, free in self.free.items() if free >= gpus]
            return {min(fitting, key=self.free.__getitem__): gpus} if fitting else {}
        whole, rest = divmod(gpus, self.size)
        chosen = [node for node, free in self.free.items() if free == self.size][:whole]
        found = dict.fromkeys(chosen, self.size)
        if rest:
            others = [node for node in self.free if node not in found]
            freest = max(others, key=self.free.__getitem__, default=None)
            if freest is None or self.free[freest] < rest:
                return {}
            found[freest] = rest
        return found if len(chosen) == whole else {}

    def shadow(self, gpus: int, running: Iterable[tuple[float, Seats]]) -> float:
        """The earliest planned end at which so many fit, when nothing new starts."""
        free, nodes_with = dict(self.free), list(self.nodes_with)
        for end, seats in sorted(running, key=lambda one: one[0]):
            for node, held in seats.items():
                nodes_with[free[node]] -= 1
                free[node] += len(held)
                nodes_with[free[node]] += 1
            if end == inf or _fits(nodes_with, self.size, gpus):
                return end
        return inf


def _fits(nodes_with: list[int], size: int, gpus: int) -> bool:
    if gpus <= size:
        return any(nodes_with[gpus:])
    whole, rest = divmod(gpus, size)
    return nodes_with[size] >= whole and (not rest or sum(nodes_with[rest:]) > whole)


def _short(seats: dict[str, int]) -> str:
    shown = [f"{node} ({gpus})" for node, gpus in sorted(seats.items())]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
