"""Runs that were asked to go: what they hold of quota is as good as free for whoever looks for a way."""

from collections.abc import Iterable

from scheduler.core.model import Running
from scheduler.core.quota import Books


class Leaving:
    """Those of the snapshot, and those of the plan so far."""

    def __init__(self, books: Books, running: Iterable[Running]) -> None:
        self._books = books
        self._runs = [run for run in running if run.stopping]
        self._known: tuple[int, int, Books] | None = None

    def add(self, run: Running) -> None:
        """It has been asked just now."""
        self._runs.append(run)

    def books(self) -> Books:
        """The books as they will be when all of them have gone; to be read only."""
        if not self._runs:
            return self._books
        version, many = self._books.version, len(self._runs)
        if self._known is None or self._known[:2] != (version, many):
            then = self._books.copy()
            for run in self._runs:
                then.gone(run)
            self._known = version, many, then
        return self._known[2]
