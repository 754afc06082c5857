"""Writes what a replay leaves behind: under other names until it is whole, so that no half file is ever seen."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO

# What a file system says while a file is being written, without saying of which.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE}


class NoPlace(Exception):
    """A file that cannot be written; the sentence says why."""


def distinct(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse to write one file twice, or over what is being read."""
    taken = {os.path.realpath(path) for path in inputs}
    for path in outputs:
        if os.path.realpath(path) in taken:
            raise NoPlace(f"{path}: is named twice; what a replay writes needs a name of its own")
        taken.add(os.path.realpath(path))


def to_stdout(paths: Sequence[Path | None]) -> bool:
    """Whether one of these is the pipe or the file that this process speaks to: then nothing else may go there."""
    try:
        spoken = os.fstat(sys.stdout.fileno())
        return not stat.S_ISCHR(spoken.st_mode) and any(
            path is not None and os.path.exists(path) and os.path.samestat(spoken, os.stat(path))
            for path in paths
        )
    except (OSError, ValueError):  # no such thing as a standard output
        return False


@contextmanager
def written(paths: Sequence[Path | None]) -> Iterator[list[TextIO | None]]:
    """Files to write, in the order of their paths; they get their names together, when all went well."""
    with ExitStack() as leftovers:
        parts = [_begun(path, leftovers) for path in paths]
        try:
            yield [part.file if part else None for part in parts]
        except OSError as why:
            if why.filename is None and why.errno in NO_ROOM:
                raise NoPlace(f"what was found cannot be written ({why.strerror}); make room for it") from why
            raise
        there = [part for part in parts if part]
        for part in there:
            part.close()
        for part in there:
            part.keep()


def _begun(path: Path | None, leftovers: ExitStack) -> "_Part | None":
    if path is None:
        return None
    part = _Part(path)
    leftovers.callback(part.throw_away)
    return part


class _Part:
    """One file in the making."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, Path(os.path.realpath(path))
        if os.path.isdir(path):
            raise NoPlace(f"{path}: is a directory; name a file in it")
        try:
            self.hidden = None if _in_place(path) else self._sibling()
            self.file = (self.hidden or path).open("w", encoding="utf-8", newline="\n")
        except OSError as why:
            raise self._no_place(why) from why

    def close(self) -> None:
        """All is written, if it can be."""
        try:
            self.file.close()
        except OSError as why:
            raise self._no_place(why) from why

    def keep(self) -> None:
        """It is whole: give it its name."""
        try:
            if self.hidden:
                os.replace(self.hidden, self.place)
        except OSError as why:
            raise self._no_place(why) from why

    def throw_away(self) -> None:
        """What was not kept goes; after `keep` there is nothing left to do."""
        with suppress(OSError):
            self.file.close()
        if self.hidden:
            self.hidden.unlink(missing_ok=True)

    def _sibling(self) -> Path:
        return self.place.with_name(f".{self.place.name}.{os.getpid()}.part")

    def _no_place(self, why: OSError) -> NoPlace:
        return NoPlace(f"{self.path}: cannot be written ({why.strerror}); name another place")


def _in_place(path: Path) -> bool:
    """A terminal, a pipe or /dev/null is written to as it is: nothing must be put in its place."""
    if Path(os.path.abspath(path)).parts[1:2] in (
        ("dev",),
        ("proc",),
    ):  # also what only stands for another file
        return os.path.exists(path)
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
