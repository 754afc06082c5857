"""A bar on the terminal while a long replay runs; a file or a pipe gets none."""

import sys
from shutil import get_terminal_size
from time import monotonic

from portal import words

WIDTH = 30
EVERY_S = 0.1


class Bar:
    """How many jobs are over, and about how long the rest takes."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.shown = sys.stderr.isatty()
        self._began = monotonic()
        self._next = self._began

    def show(self, done: int, total: int) -> None:
        """So many of so many jobs are over."""
        now = monotonic()
        if not self.shown or (now < self._next and done < total):
            return
        self._next = now + EVERY_S
        share = done / total if total else 1.0
        full = round(share * WIDTH)
        left = (now - self._began) * (1 - share) / share if share else None
        rest = f", about {words.duration(left)} left" if left and left >= 1 else ""
        jobs = f"{words.count(done)} of {words.many(total, 'job')}"
        text = f"{self.title}  {'█' * full}{'░' * (WIDTH - full)}  {jobs}{rest}"
        print(
            # A line that wraps could not be taken back.
            f"\r\x1b[K{text[: get_terminal_size().columns - 1]}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def clear(self) -> None:
        """Leave the line to what comes next."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
