"""What ranks printed: kept by offset, bounded, and read in the order of arrival without a gap."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.errors import Refusal
from portal.jobs import logs
from portal.jobs.models import LogChunk, Run
from tests.portal.stage import Stage


@pytest.fixture
def run(stage: Stage) -> Run:
    stage.add_nodes("n1")
    return stage.started(stage.submit(gpus_per_node=2))


def put(stage: Stage, run: Run, offset: int, body: bytes, rank: int = 0) -> int:
    return logs.append(run=run.pk, rank=rank, offset=offset, body=body, now=stage.now)


def text(run: Run, rank: int | None = None) -> str:
    return "".join(piece.text for piece in logs.pieces(run.pk, rank=rank)[0])


def test_pieces_are_kept_once_however_often_they_come(stage: Stage, run: Run) -> None:
    assert put(stage, run, 0, b"hello ") == 6
    assert put(stage, run, 0, b"hello ") == 6
    assert put(stage, run, 3, b"lo world") == 11
    assert put(stage, run, 0, b"") == 11
    assert text(run) == "hello world"


def test_a_gap_is_told_of(stage: Stage, run: Run) -> None:
    put(stage, run, 0, b"head")
    put(stage, run, 1_000, b"tail")
    found, _ = logs.pieces(run.pk)
    assert [(piece.start, piece.skipped) for piece in found] == [(0, 0), (1_000, 996)]
    resumed, _ = logs.pieces(run.pk, after=logs.pieces(run.pk)[1] - 1)
    assert [(piece.start, piece.skipped) for piece in resumed] == [(1_000, 996)]


STORY = "größer → 学習 🚀 end\n" * 3


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
          derandomize=True)  # fmt: skip
@given(
    cuts=st.sets(st.integers(1, len(STORY.encode()) - 1), max_size=8),
    stops=st.sets(st.integers(0, 8), max_size=3),
)
def test_characters_cut_by_the_edge_of_a_piece_are_joined_wherever_a_reader_resumes(
    stage: Stage, run: Run, cuts: set[int], stops: set[int]
) -> None:
    """However the bytes were cut, and however often somebody asked in between."""
    whole = STORY.encode()
    edges = [0, *sorted(cuts), len(whole)]
    with transaction.atomic():
        read, after = "", 0
        for number, (begin, end) in enumerate(pairwise(edges)):
            put(stage, run, begin, whole[begin:end])
            put(stage, run, begin, whole[begin:end], rank=1)
            if number in stops:
                found, after = logs.pieces(run.pk, after=after)
                read += "".join(piece.text for piece in found if piece.rank == 0)
        found, _ = logs.pieces(run.pk, after=after)
        read += "".join(piece.text for piece in found if piece.rank == 0)
        assert read == STORY
        transaction.set_rollback(True)


def test_bytes_that_are_no_text_are_shown_as_marks(stage: Stage, run: Run) -> None:
    put(stage, run, 0, b"a\xff\xfeb\0c")
    assert text(run) == "a\ufffd\ufffdb\0c"


def test_a_long_log_keeps_its_head_and_its_tail(stage: Stage, run: Run) -> None:
    size, offset = 128 * 1024, 0
    for number in range(40):
        offset = put(stage, run, offset, bytes([65 + number % 26]) * size)
    kept = sum(len(chunk.body) for chunk in LogChunk.objects.all())
    assert (
        logs.HEAD_BYTES + logs.TAIL_BYTES <= kept <= logs.HEAD_BYTES + logs.TAIL_BYTES + 3 * logs.CHUNK_BYTES
    )
    found, after = [], 0
    while page := logs.pieces(run.pk, after=after)[0]:
        after = logs.pieces(run.pk, after=after)[1]
        found += page
    assert found[0].text[0] == "A"
    assert found[-1].text[-1] == chr(65 + 39 % 26)
    assert sum(piece.skipped for piece in found) + kept == 40 * size


def test_one_answer_holds_about_a_megabyte(stage: Stage, run: Run) -> None:
    offset = 0
    for _ in range(6):
        offset = put(stage, run, offset, b"x" * logs.CHUNK_BYTES)
    first, after = logs.pieces(run.pk)
    assert sum(len(piece.text) for piece in first) == logs.AT_ONCE_BYTES
    rest, _ = logs.pieces(run.pk, after=after)
    assert len(first) + len(rest) == 6


@pytest.mark.parametrize(("offset", "body"), [(-1, b"x"), (2**62, b"x"), (0, b"x" * (256 * 1024 + 1))])
def test_a_wrong_piece_is_refused(stage: Stage, run: Run, offset: int, body: bytes) -> None:
    with pytest.raises(Refusal):
        put(stage, run, offset, body)


def test_the_end_is_known_without_reading_every_piece(stage: Stage, run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT start FROM jobs_logchunk WHERE run_id = %s AND rank = 0 ORDER BY start DESC LIMIT 1",
            [run.pk],
        )
        assert "log_offset_once" in "".join(row[0] for row in cursor.fetchall())


def test_a_follower_misses_nothing_while_many_ranks_write_at_once(stage_shared: Stage) -> None:
    """Numbers are given out before they are committed: an earlier one must not appear after a later one."""
    stage_shared.add_nodes("n1")
    run = stage_shared.started(stage_shared.submit(gpus_per_node=8))
    done = threading.Event()

    def write(rank: int) -> None:
        offset = 0
        for number in range(25):
            offset = put(stage_shared, run, offset, f"{rank}.{number} ".encode(), rank)
        connection.close()

    def follow() -> str:
        seen, after = "", 0
        while True:
            last = done.is_set()
            found, after = logs.pieces(run.pk, after=after)
            seen += "".join(piece.text for piece in found)
            if last and not found:
                connection.close()
                return seen

    with ThreadPoolExecutor(9) as pool:
        reader = pool.submit(follow)
        list(pool.map(write, range(8)))
        done.set()
        seen = reader.result(timeout=30)
    assert sorted(seen.split()) == sorted(f"{rank}.{number}" for rank in range(8) for number in range(25))
