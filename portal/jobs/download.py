"""The whole log of a run as text: one rank as it was printed, or all ranks line by line."""

from portal.jobs.lines import Chunk, Joiner, Line, gap
from portal.jobs.models import LogChunk, Rank

AT_ONCE = 8  # pieces of at most 256 KiB


class Download:
    """Hands the text out bit by bit; an empty answer is the end."""

    def __init__(self, run: int, rank: int | None) -> None:
        self._run, self._rank = run, rank
        self._joiner: Joiner | None = None
        self._after = 0
        self._end = 0  # how far the one rank is known
        self._over = False

    def __call__(self) -> bytes:
        if self._over:
            return b""
        chunks = self._next()
        text = self._merged(chunks) if self._rank is None else self._alone(chunks)
        if len(chunks) < AT_ONCE:
            self._over = True
            text += b"".join(map(_written, self._joiner.unfinished())) if self._joiner else b""
        return text or (b"" if self._over else b"\n")

    def _next(self) -> list[Chunk]:
        rows = LogChunk.objects.filter(run=self._run, pk__gt=self._after).order_by("pk")
        if self._rank is not None:
            rows = rows.filter(rank=self._rank)
        chunks = [Chunk(row.pk, row.rank, row.start, bytes(row.body), row.at) for row in rows[:AT_ONCE]]
        self._after = chunks[-1].pk if chunks else self._after
        return chunks

    def _alone(self, chunks: list[Chunk]) -> bytes:
        text = b""
        for chunk in chunks:
            missing = chunk.start - self._end
            text += f"\n{gap(missing)}\n".encode() if missing > 0 else b""
            text += chunk.body[max(0, self._end - chunk.start) :]
            self._end = max(self._end, chunk.end)
        return text

    def _merged(self, chunks: list[Chunk]) -> bytes:
        if self._joiner is None:
            ranks = Rank.objects.filter(run=self._run).values_list("rank", flat=True)
            self._joiner = Joiner(ends=dict.fromkeys(ranks, 0))
        return b"".join(_written(line) for chunk in chunks for line in self._joiner.take(chunk))


def _written(line: Line) -> bytes:
    return f"r{line.rank}\t{line.text}\n".encode()
