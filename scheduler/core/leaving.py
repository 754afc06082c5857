"""Runs that were asked to go: what they hold of quota is as good as free for whoever looks for a way."""

from collections import Counter
from collections.abc import Iterable

from scheduler.core.model import Running
from scheduler.core.quota import Books


class Leaving:
    """Those of the snapshot, and those of the plan so far."""

    def __init__(self, books: Books, running: Iterable[Running]) -> None:
        self._books = books
        self._held: Counter[tuple[str, str, bool]] = Counter()  # by team, type, and whether it returns
        self._outside: Counter[str] = Counter()  # where nothing new may start: nobody's when they have gone
        self._known: tuple[int, Books] | None = None
        for run in running:
            if run.stopping:
                self.add(run)

    def add(self, run: Running) -> None:
        """It has been asked just now."""
        self._held[run.team, run.gpu_type, self._books.returns(run)] += run.gpus
        self._outside[run.gpu_type] += self._books.outside(run)
        self._known = None

    def books(self) -> Books:
        """The books as they will be when all of them have gone; to be read only."""
        if not self._held:
            return self._books
        if self._known is None or self._known[0] != self._books.version:
            then = self._books.copy()
            for (team, kind, returns), gpus in self._held.items():
                then.give(team, kind, gpus, returns=returns)
            for kind, gpus in self._outside.items():
                then.shrink(kind, gpus)
            self._known = self._books.version, then
        return self._known[1]
