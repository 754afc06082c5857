"""What is in use on each node beside GPUs: CPUs, memory, scratch, and GPUs of work that may not be stopped."""

from collections.abc import Iterable
from typing import Self

import numpy as np

from scheduler.core.ground import per_gpu
from scheduler.core.layout import Layout
from scheduler.core.model import Request, Running
from scheduler.core.tree import Ints

FIRM = 3  # the row of the matrix behind CPUs, memory and scratch
Needs = list[tuple[int, int]]  # rows of the matrix, and how much of each


class Burden:
    """Counted in thousandths by row of the snapshot."""

    def __init__(self, rows: int) -> None:
        self.used: Ints = np.zeros((4, rows), dtype=np.int64)

    @classmethod
    def of(cls, layout: Layout, running: Iterable[Running]) -> Self:
        """What these runs use."""
        burden = cls(len(layout.nodes))
        for run in running:
            needs = each_gpu(run.request, firm=not run.preemptible)
            for seat in run.seats if needs else ():
                if seat.node in layout.row:  # else the node is gone, and what it had with it
                    burden.add(layout.row[seat.node], len(seat.slots), needs)
        return burden

    def copy(self) -> Self:
        """The same on other paper."""
        twin = type(self)(0)
        twin.used = self.used.copy()
        return twin

    def add(self, row: int, gpus: int, needs: Needs) -> None:
        """So many GPUs more with these needs on a node; fewer where negative."""
        for kind, amount in needs:
            self.used[kind, row] += amount * gpus


def each_gpu(request: Request | None, *, firm: bool) -> Needs:
    """What goes with each GPU, without what it does not need."""
    needs = per_gpu(request) if request is not None else (0, 0, 0)
    return [(kind, amount) for kind, amount in enumerate((*needs, int(firm))) if amount]
