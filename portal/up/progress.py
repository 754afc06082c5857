"""Lines of progress: what is being done, for how long, and how it ended; standard library only."""

import os
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
            say(f"  {self.title:<44}{time.monotonic() - self.began:6.0f} s ", end="")

    def end(self, outcome: str = "") -> None:
        """The step is over: leave its time, and what came of it, on the line."""
        say(f"  {self.title:<44}{time.monotonic() - self.began:6.1f} s  {outcome}".rstrip())


def say(text: str, end: str = "\n") -> None:
    """Print in place of a running line; when the terminal has gone there is nobody to tell, and that is all."""
    clear = "\r\x1b[K" if sys.stdout.isatty() else ""
    try:
        print(clear + text, end=end, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
