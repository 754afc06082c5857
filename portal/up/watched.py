"""One process under the keeper's eye: started, known to be ready, started again when it dies."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from portal.up.lineup import Stage

_LONGEST_WAIT_S = 30
_NEXT_TRY_S = 5.0
_HEALTHY_S = 60  # whoever ran that long begins a new count of failures


class Watched:
    """A role and the process that fills it now; answers() says whether that one does its work."""

    def __init__(
        self,
        name: str,
        stage: Stage,
        *,
        start: Callable[[], subprocess.Popen[bytes]],
        answers: Callable[[], bool],
        log: Path,
    ) -> None:
        self.name = name
        self.stage = stage
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.failures = 0
        self.due: float | None = None  # when to start it again
        self.ready = False
        self._start = start
        self._answers = answers
        self._began = 0.0

    @property
    def alive(self) -> bool:
        """Whether there is a process now."""
        return self.process is not None and self.process.returncode is None

    def start(self) -> int:
        """Start it, for the first time or again; the number of its process."""
        self.due, self._began = None, time.monotonic()
        self.process = self._start()
        return self.process.pid

    def check_ready(self) -> bool:
        """Once ready is ready enough: from then on only its death counts."""
        self.ready = self.ready or (self.alive and self._answers())
        return self.ready

    def has_died(self) -> float | None:
        """Notice a death once; in how many seconds it is to be started again."""
        if self.process is None or self.process.returncode is None or self.due is not None:
            return None
        now = time.monotonic()
        self.failures = 1 if now - self._began > _HEALTHY_S else self.failures + 1
        wait_s: float = min(_LONGEST_WAIT_S, 2 ** (self.failures - 1))
        self.due = now + wait_s
        return wait_s

    def put_off(self) -> float:
        """It could not even be tried: in how many seconds it is to be tried again."""
        self.due = time.monotonic() + _NEXT_TRY_S
        return _NEXT_TRY_S

    def how_it_ended(self) -> str:
        """In words: by a signal, or with an exit status."""
        code = self.process.returncode if self.process else 0
        return f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
