"""Lines of progress: what is being done, for how long, and how it ended; standard library only."""

import sys
import time


class Line:
    """One step, shown while it runs on a terminal, and once, when it has ended, in a file."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.began = time.monotonic()
        self.tick()

    def tick(self) -> None:
        """Show how long it has taken so far."""
        if sys.stdout.isatty():
            print(f"\r  {self.title:<44}{time.monotonic() - self.began:6.0f} s ", end="", flush=True)

    def end(self, outcome: str = "") -> None:
        """The step is over: leave its time, and what came of it, on the line."""
        start = "\r" if sys.stdout.isatty() else ""
        print(
            f"{start}  {self.title:<44}{time.monotonic() - self.began:6.1f} s  {outcome}".rstrip(), flush=True
        )
