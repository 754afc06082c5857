"""Pieces of logs become lines: joined, bounded, without colours, and harmless."""

from datetime import datetime

import pytest

from portal.jobs import lines
from portal.jobs.lines import Chunk, Joiner


def said(now: datetime, *pieces: bytes) -> tuple[list[str], list[str]]:
    joiner, start, found = Joiner(), 0, []
    for pk, body in enumerate(pieces, 1):
        found += joiner.take(Chunk(pk, 0, start, body, now))
        start += len(body)
    return [line.text for line in found], [line.text for line in joiner.unfinished()]


def test_lines_cut_by_the_edges_of_pieces_are_joined(now: datetime) -> None:
    joined, rest = said(now, b"step 1\nst", b"ep", b" 2\nstep 3")
    assert joined == ["step 1", "step 2"]
    assert rest == ["step 3"]


def test_a_character_cut_in_two_is_whole_again(now: datetime) -> None:
    body = "größer ✓\n".encode()
    for cut in range(1, len(body)):
        assert said(now, body[:cut], body[cut:]) == (["größer ✓"], [])


def test_ranks_do_not_mix(now: datetime) -> None:
    joiner = Joiner()
    first = list(joiner.take(Chunk(1, 0, 0, b"of rank ", now)))
    second = list(joiner.take(Chunk(2, 1, 0, b"from one\n", now)))
    third = list(joiner.take(Chunk(3, 0, 8, b"nought\n", now)))
    assert [(line.rank, line.text) for line in first + second + third] == [
        (1, "from one"),
        (0, "of rank nought"),
    ]


def test_what_was_let_go_is_told_in_its_place(now: datetime) -> None:
    joiner = Joiner(ends={0: 0})
    found = list(joiner.take(Chunk(1, 0, 0, b"head, cut", now)))
    found += joiner.take(Chunk(2, 0, 2_000_009, b"tail\n", now))
    assert [(line.text, line.look) for line in found] == [
        ("head, cut", ""),
        (lines.gap(2_000_000), "gap"),
        ("tail", ""),
    ]
    assert "2.0\u00a0MB" in lines.gap(2_000_000)


def test_a_line_of_ten_megabytes_takes_no_more_room_than_a_long_one(now: datetime) -> None:
    joiner = Joiner()
    for piece in range(40):
        assert list(joiner.take(Chunk(piece + 1, 0, piece * 262_144, b"x" * 262_144, now))) == []
    assert len(joiner.open[0].kept) == lines.LINE_BYTES
    (line,) = joiner.take(Chunk(99, 0, 40 * 262_144, b"\n", now))
    assert len(line.text) < lines.LINE_BYTES + 60
    assert line.text.endswith("MB more in this line")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"\x1b[31mred\x1b[0m and \x1b[1;38;5;12mblue\x1b[m", "red and blue"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPq...\x1b\\after", "after"),
        (b"\x1b(Bplain\x1b", "plain"),
        (b" 10%|#    |\r 50%|###  |\r100%|#####|\r", "100%|#####|"),
        (b"windows\r", "windows"),
        (b"tab\there", "tab\there"),
        (b"bell\x07 null\x00 delete\x7f", "bell\u2407 null\u2400 delete\u2421"),
        ("abc\u202edef\u2066ghi\u2028jkl\x85".encode(), "abc\ufffddef\ufffdghi\ufffdjkl\ufffd"),
        (b"\xff\xfe broken", "\ufffd\ufffd broken"),
    ],
)
def test_what_only_a_terminal_understands_is_taken_out(printed: bytes, shown: str) -> None:
    assert lines.clean(printed) == shown


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("step 3 loss 0.81", ""),
        ("2026-04-14 WARNING slow step", "warning"),
        ("UserWarning: lr_scheduler", "warning"),
        ("ERROR: out of memory", "failed"),
        ("Traceback (most recent call last):", "failed"),
        ("RuntimeError: CUDA out of memory", "failed"),
        ("no errors, no warnings", ""),
    ],
)
def test_lines_that_speak_of_trouble_stand_out(text: str, look: str) -> None:
    assert lines.look_of(text) == look


def test_a_joiner_goes_on_where_another_stopped(now: datetime) -> None:
    joiner = lines.resumed({0: 10, 1: 4}, {0: (b"half a ", now), 1: (b"", now)})
    found = list(joiner.take(Chunk(7, 0, 10, b"line\n", now)))
    assert [line.text for line in found] == ["half a line"]
    assert joiner.unfinished() == []
