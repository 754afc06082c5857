"""What ranks printed: pieces by offset, with head and tail kept and the middle let go."""

import codecs
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Length
from redis.exceptions import RedisError

from portal.bell import redis
from portal.cluster.models import Node
from portal.errors import Refusal
from portal.jobs.models import LogChunk, Rank, Run

CHUNK_BYTES = 256 * 1024
HEAD_BYTES = 256 * 1024
TAIL_BYTES = 1024 * 1024
AT_ONCE, AT_ONCE_BYTES = 200, 1024 * 1024  # what one answer of the API holds
CHARACTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Some output of a rank; `skipped` bytes before it were let go."""

    rank: int
    start: int
    text: str
    skipped: int
    at: datetime


def is_seated(*, node: Node, run: int, rank: int) -> bool:
    """Whether the rank ran on this node, live or over: the end of a log arrives after the end."""
    return Rank.objects.filter(run=run, rank=rank, seat__node=node).exists()


def append(*, run: int, rank: int, offset: int, body: bytes, now: datetime) -> int:
    """Keep a piece; what is there already is not kept twice. Returns the offset wanted next."""
    if len(body) > CHUNK_BYTES:
        raise Refusal(f"A piece of a log has at most {CHUNK_BYTES:,} bytes.", field="body")
    if not 0 <= offset < 2**62:
        raise Refusal("The offset counts bytes since the rank began, from 0.", field="offset")
    with transaction.atomic():
        # One at a time for each run, so that pieces become visible in the order of their numbers: whoever
        # follows the log by the last number it saw misses none.
        Run.objects.select_for_update(no_key=True).only("pk").get(pk=run)
        end = end_of(run, rank)
        fresh, start = body[max(0, end - offset) :], max(offset, end)
        if not fresh:
            return end
        LogChunk.objects.create(run_id=run, rank=rank, start=start, body=fresh, at=now)
        _let_the_middle_go(run, rank, start + len(fresh))
    tell(run)
    return start + len(fresh)


def end_of(run: int, rank: int) -> int:
    """How far the log of a rank is known; pieces do not overlap, so the last one says it."""
    pieces = LogChunk.objects.filter(run=run, rank=rank).order_by("-start")
    end: int | None = pieces.values_list(F("start") + Length("body"), flat=True).first()
    return end or 0


def _let_the_middle_go(run: int, rank: int, end: int) -> None:
    if end > HEAD_BYTES + TAIL_BYTES + CHUNK_BYTES:
        LogChunk.objects.filter(
            run=run, rank=rank, start__gte=HEAD_BYTES, start__lt=end - TAIL_BYTES - CHUNK_BYTES
        ).delete()


def channel(run: int) -> str:
    return f"berth.log.{run}"


def tell(run: int) -> None:
    """Wake whoever follows this log; nobody hearing it costs a second, not a line."""
    try:
        redis().publish(channel(run), b"")
    except RedisError:
        return


def pieces(run: int, *, rank: int | None = None, after: int = 0) -> tuple[list[Piece], int]:
    """What arrived after that number, up to a megabyte, and the number to go on from; three queries."""
    chunks = LogChunk.objects.filter(run=run) if rank is None else LogChunk.objects.filter(run=run, rank=rank)
    sizes = chunks.filter(pk__gt=after).order_by("pk").values_list("pk", Length("body"))[:AT_ONCE]
    totals = accumulate(sizes, lambda done, more: (more[0], done[1] + more[1]))
    chosen = [pk for number, (pk, total) in enumerate(totals) if not number or total <= AT_ONCE_BYTES]
    if not chosen:
        return [], after
    rows = chunks.filter(pk__gt=after, pk__lte=chosen[-1]).order_by("pk")
    ends = _ends(chunks.filter(pk__lte=after)) if after else {}
    return [_piece(chunk, ends) for chunk in rows], chosen[-1]


def _ends(chunks: QuerySet[LogChunk]) -> dict[int, int]:
    """By rank: how far these pieces go."""
    last = chunks.order_by("rank", "-pk").distinct("rank")
    return dict(last.values_list("rank", F("start") + Length("body")))


def _piece(chunk: LogChunk, ends: dict[int, int]) -> Piece:
    """A character that a piece's edge cut in two belongs to the later piece."""
    body, end = bytes(chunk.body), ends.get(chunk.rank, 0)
    ends[chunk.rank] = chunk.start + len(body)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    if chunk.start == end and body[0] & 0b1100_0000 == 0b1000_0000:  # the inside of a character
        decoder.decode(_tail(chunk))
    return Piece(chunk.rank, chunk.start, decoder.decode(body), max(0, chunk.start - end), chunk.at)


def _tail(chunk: LogChunk) -> bytes:
    """The bytes just before a piece; a character has at most four, so they lie in at most four pieces."""
    before = LogChunk.objects.filter(run=chunk.run_id, rank=chunk.rank, start__lt=chunk.start)
    last = [bytes(piece.body) for piece in before.order_by("-start")[:CHARACTER_BYTES]]
    return b"".join(reversed(last))[-CHARACTER_BYTES:]
