"""Following the log of a run: its newest lines first, then each piece as it arrives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BinaryField, F, Func, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Greatest, Length
from django.template.loader import render_to_string

from portal.accounts.queries import standing
from portal.jobs import logs
from portal.jobs.lines import LINE_BYTES, Chunk, Joiner, Line, resumed
from portal.jobs.models import Job, LogChunk, Rank, Run
from portal.streams import Event, Step

Head = tuple[int, int, int, int]  # a piece without its body: number, rank, start, size

SHOWN_LINES = 300
SHOWN_BYTES = 96 * 1024
STEP_BYTES = 256 * 1024
PIECES = 400
SETTLED = timedelta(seconds=5)  # after its end a run's last pieces arrive within this


class Reader:
    """Reads the lines of a run, of all ranks in order of arrival or of one; `after` is the newest piece read."""

    def __init__(self, run: int, *, rank: int | None = None, after: int = 0) -> None:
        self.run, self.rank, self.after = run, rank, after
        self._joiner = self._resumed() if after else Joiner()

    def newest(self) -> list[Line]:
        """The last lines there are; three queries at most."""
        heads = list(self._heads().order_by("-pk")[:PIECES])
        return self._read(_within(heads, SHOWN_BYTES))[-SHOWN_LINES:]

    def more(self) -> list[Line]:
        """What arrived since; one query when nothing did. Pieces become visible in the order of their numbers."""
        heads = list(self._heads().filter(pk__gt=self.after).order_by("pk")[:PIECES])
        return self._read(_within(heads, STEP_BYTES))

    def unfinished(self) -> list[Line]:
        return self._joiner.unfinished()

    def _chunks(self) -> QuerySet[LogChunk]:
        chunks = LogChunk.objects.filter(run=self.run)
        return chunks if self.rank is None else chunks.filter(rank=self.rank)

    def _heads(self) -> QuerySet[LogChunk, Head]:
        return self._chunks().values_list("pk", "rank", "start", Length("body"))

    def _read(self, heads: Sequence[Head]) -> list[Line]:
        if not heads:
            return []
        rows = LogChunk.objects.filter(pk__in=[pk for pk, *_ in heads]).order_by("pk")
        lines: list[Line] = []
        for row in rows:
            chunk = Chunk(row.pk, row.rank, row.start, bytes(row.body), row.at)
            lines += self._joiner.take(chunk)
            self.after = row.pk
        return lines

    def _resumed(self) -> Joiner:
        """Where a reader before us stopped: how far each rank was known, and the line it was in."""
        mine = self._chunks().filter(rank=OuterRef("rank"), pk__lte=self.after).order_by("-start")
        newest = Rank.objects.filter(run=self.run).annotate(last=Subquery(mine.values("pk")[:1]))
        rows = LogChunk.objects.filter(pk__in=newest.values("last")).annotate(
            tail=_tail(), size=Length("body")
        )
        ends, rests = {}, {}
        for row in rows.defer("body"):
            ends[row.rank] = row.start + row.size
            rests[row.rank] = (self._rest(row.rank, bytes(row.tail)), row.at)
        return resumed(ends, rests)

    def _rest(self, rank: int, tail: bytes) -> bytes:
        """What follows the last end of a line; a line that grows slowly lies in many pieces."""
        if b"\n" in tail:
            return tail.rpartition(b"\n")[2]
        pieces = self._chunks().filter(rank=rank, pk__lte=self.after).order_by("-start")
        tails = pieces.annotate(tail=_tail()).values_list("tail", flat=True)[:50]
        return b"".join(reversed([bytes(piece) for piece in tails])).rpartition(b"\n")[2]


def _tail() -> Func:
    start = Greatest(Length("body") - Value(LINE_BYTES - 1), Value(1))
    return Func(F("body"), start, function="SUBSTR", output_field=BinaryField())


def _within(heads: Sequence[Head], octets: int) -> list[Head]:
    """The first of these pieces, up to a size; at least one."""
    kept: list[Head] = []
    total = 0
    for head in heads:
        if kept and total + head[3] > octets:
            break
        kept.append(head)
        total += head[3]
    return kept


@dataclass(slots=True)
class Follower:
    """A run's log as a stream of list items, until the run is over and its log is whole."""

    job: Job
    run: Run
    reader: Reader
    clock: Callable[[], datetime]
    quiet_since: datetime
    _shown: tuple[Line, ...] = ()

    @property
    def channel(self) -> str:
        return logs.channel(self.run.pk)

    def look(self) -> Step:
        fresh = self.reader.more() if self.reader.after else self.reader.newest()
        unfinished = tuple(self.reader.unfinished())
        if fresh or unfinished != self._shown:
            self._shown, self.quiet_since = unfinished, self.clock()
            html = render_to_string("jobs/_lines.html", {"lines": fresh, "unfinished": unfinished})
            return Step([Event("lines", html, str(self.reader.after))], more=bool(fresh))
        return self._end() if self.is_whole() else Step()

    def is_whole(self) -> bool:
        """Over, and nothing has come for a while."""
        self.run.refresh_from_db(fields=["phase", "cause", "ended_at"])
        ended = self.run.ended_at
        return ended is not None and self.clock() - max(ended, self.quiet_since) > SETTLED

    def _end(self) -> Step:
        words = f"Run {self.run.epoch} ended: {Run.Cause(self.run.cause).label.lower()}. The log is whole."
        return Step([Event("end", words)], over=True)

    def refuses(self, user: Any) -> str:
        may = standing(user).may("job.log", team_id=self.job.team_id, owner_id=self.job.user_id)
        return "" if may else "Your account may not read this log any more."
