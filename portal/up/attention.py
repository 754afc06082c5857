"""What a process waits for: signals, and words or silence on a pipe, in one place and without threads."""

import os
import select
import signal
from collections.abc import Iterable
from types import FrameType
from typing import Protocol


class HasFile(Protocol):
    """Anything select can wait for."""

    def fileno(self) -> int:
        """Its file descriptor."""


class Attention:
    """Counts the signals it is given to count, and wakes from any wait when one arrives."""

    def __init__(self, counted: Iterable[signal.Signals], only_wake: Iterable[signal.Signals] = ()) -> None:
        self.count = 0
        self._wake, write_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for one in counted:
            signal.signal(one, self._counted)
        for one in only_wake:  # handlers, not SIG_IGN: what is ignored here would be ignored in every child
            signal.signal(one, lambda *_: None)

    def wait(self, *files: int | HasFile, timeout_s: float) -> list[int | HasFile]:
        """Sleep until one of the files has something, a signal came, or the time is over."""
        ready, _, _ = select.select([self._wake, *files], [], [], max(0.0, timeout_s))
        if self._wake in ready:
            os.read(self._wake, 4096)
            ready.remove(self._wake)
        return ready

    def _counted(self, _signum: int, _frame: FrameType | None) -> None:
        self.count += 1
