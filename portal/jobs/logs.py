"""What ranks printed: pieces by offset, with head and tail kept and the middle let go."""

import codecs
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F, Max
from django.db.models.functions import Length
from redis.exceptions import RedisError

from portal.bell import redis
from portal.cluster.models import Node
from portal.errors import Refusal
from portal.jobs.models import LogChunk, Rank

CHUNK_BYTES = 256 * 1024
HEAD_BYTES = 256 * 1024
TAIL_BYTES = 1024 * 1024


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
    end = end_of(run, rank)
    fresh = body[max(0, end - offset) :]
    start = max(offset, end)
    if not fresh:
        return end
    try:
        with transaction.atomic():
            LogChunk.objects.create(run_id=run, rank=rank, start=start, body=fresh, at=now)
    except IntegrityError:  # the same piece arrived twice at once
        return end_of(run, rank)
    _let_the_middle_go(run, rank, start + len(fresh))
    tell(run)
    return start + len(fresh)


def end_of(run: int, rank: int) -> int:
    """How far the log of a rank is known."""
    ends = LogChunk.objects.filter(run=run, rank=rank).aggregate(end=Max(F("start") + Length("body")))
    return ends["end"] or 0


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


class Reader:
    """Follows the log of a run in order of arrival; characters cut in two by a piece's edge are joined again."""

    def __init__(self, run: int, *, rank: int | None = None, after: int = 0) -> None:
        self.run, self.rank, self.after = run, rank, after  # after: the last row seen, so a reader can resume
        self._ends: dict[int, int] = {}
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}

    def more(self, limit: int = 200) -> list[Piece]:
        """What arrived since the last call, at most `limit` pieces; one query."""
        chunks = LogChunk.objects.filter(run=self.run, pk__gt=self.after).order_by("pk")
        if self.rank is not None:
            chunks = chunks.filter(rank=self.rank)
        return [self._piece(chunk) for chunk in chunks[:limit]]

    def _piece(self, chunk: LogChunk) -> Piece:
        body, expected = bytes(chunk.body), self._ends.get(chunk.rank, chunk.start if self.after else 0)
        if chunk.start != expected or chunk.rank not in self._decoders:
            self._decoders[chunk.rank] = codecs.getincrementaldecoder("utf-8")("replace")
        text = self._decoders[chunk.rank].decode(body)
        self.after, self._ends[chunk.rank] = chunk.pk, chunk.start + len(body)
        return Piece(chunk.rank, chunk.start, text, max(0, chunk.start - expected), chunk.at)
