"""What the keeper tells the front, one JSON object a line through a pipe that never makes it wait."""

import contextlib
import json
import os
from typing import Any


class Teller:
    """The keeper's end: a front that has died or stands still costs the keeper nothing."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe

    def tell(self, kind: str, **facts: Any) -> None:
        """Say one thing: step, done, line, ready, trouble, stopping or bye."""
        with contextlib.suppress(BrokenPipeError, BlockingIOError):
            os.write(self._pipe, json.dumps({"kind": kind, **facts}).encode() + b"\n")


class Listener:
    """The front's end."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._rest = b""
        self.over = False

    def fileno(self) -> int:
        """For select."""
        return self._pipe

    def hear(self) -> list[dict[str, Any]]:
        """What has been said since; `over` when the keeper can say no more."""
        heard = os.read(self._pipe, 65536)
        self.over = not heard
        *lines, self._rest = (self._rest + heard).split(b"\n")
        return [json.loads(line) for line in lines]
