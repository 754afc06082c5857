"""A rank's output on disk: all of a small one, head and tail of a large one."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.agent import spool
from scheduler.agent.spool import HEAD, SEGMENT, TAIL, Spool, piece_at


def read_back(directory: Path, chunk: int) -> list[tuple[int, bytes]]:
    pieces: list[tuple[int, bytes]] = []
    offset = 0
    while True:
        start, piece = piece_at(directory, offset, chunk)
        if not piece:
            return pieces
        pieces.append((start, piece))
        offset = start + len(piece)


@settings(max_examples=40)
@given(writes=st.lists(st.binary(max_size=40), max_size=40), chunk=st.integers(1, 50))
def test_head_and_tail_come_back_at_their_offsets(
    tmp_path_factory: pytest.TempPathFactory, writes: list[bytes], chunk: int
) -> None:
    directory = tmp_path_factory.mktemp("spool")
    whole = b"".join(writes)
    with patch.multiple(spool, SEGMENT=8, HEAD=2, TAIL=3):
        kept = Spool(directory)
        for output in writes:
            kept.take(output)
        kept.close()
        pieces = read_back(directory, chunk)
    assert kept.offset == len(whole)
    for start, piece in pieces:
        assert whole[start : start + len(piece)] == piece
    got = b"".join(piece for _, piece in pieces)
    assert got.startswith(whole[:16])
    assert got.endswith(whole[-16:])
    if len(whole) <= 5 * 8:
        assert got == whole
    assert sum(path.stat().st_size for path in directory.iterdir()) <= 5 * 8


def test_a_full_disk_loses_output_but_never_stops_the_rank(tmp_path: Path) -> None:
    kept = Spool(tmp_path)
    kept.take(b"before ")
    with patch.object(os, "write", side_effect=OSError(28, "No space left on device")):
        kept.take(b"lost")
    with patch.object(os, "open", side_effect=OSError(28, "No space left on device")):
        kept.take(b"lost too")
    kept.take(b"after")
    assert read_back(tmp_path, 100) == [(0, b"before "), (19, b"after")]


def test_the_size_on_disk_is_bounded_by_a_few_megabytes() -> None:
    assert (HEAD + TAIL) * SEGMENT <= 5 * 2**20
