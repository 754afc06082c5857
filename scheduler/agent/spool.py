"""A rank's output on disk: its head and its tail, in segments named by offset; standard library only."""

import os
from bisect import bisect_right
from collections import deque
from pathlib import Path

SEGMENT = 256 * 1024
HEAD = 4  # segments kept from the beginning
TAIL = 16  # segments kept at the end


class Spool:
    """Takes all a rank writes and never holds it up, whatever the disk does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.offset = 0  # bytes the rank has written so far
        self._tail: deque[Path] = deque()
        self._opened = 0  # segments so far
        self._file: int | None = None
        self._room = 0

    def take(self, output: bytes) -> None:
        view = memoryview(output)
        while view:
            if not self._room and not self._turn_page():
                self.offset += len(view)  # a full disk loses output; it must not stop the rank
                return
            view = view[self._append(view[: self._room]) :]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._room = None, 0

    def _append(self, piece: memoryview) -> int:
        """How much of the output is dealt with: on disk, or lost because the disk is full."""
        assert self._file is not None
        try:
            count = os.write(self._file, piece)
        except OSError:
            count = len(piece)
            self.close()  # a segment has no holes, so what comes next begins another one
        else:
            self._room -= count
        self.offset += count
        return count

    def _turn_page(self) -> bool:
        self.close()
        path = self.directory / f"{self.offset:016d}"
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError:
            return False
        self._room = SEGMENT
        self._opened += 1
        if self._opened > HEAD:
            self._tail.append(path)
        if len(self._tail) > TAIL:
            self._tail.popleft().unlink(missing_ok=True)
        return True


def piece_at(directory: Path, offset: int, limit: int) -> tuple[int, bytes]:
    """What is kept from `offset` on, at most `limit` bytes, and where it begins: later, where the middle is gone."""
    starts = sorted(int(name) for name in os.listdir(directory)) if directory.is_dir() else []
    for start in starts[max(0, bisect_right(starts, offset) - 1) :]:
        try:
            with open(directory / f"{start:016d}", "rb") as file:
                file.seek(max(0, offset - start))
                piece = file.read(limit)
        except FileNotFoundError:
            continue  # the writer went on and dropped it
        if piece:
            return max(start, offset), piece
    return offset, b""
