"""Lines of a log: pieces of bytes in, whole lines out, cleaned so that they can be shown."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from portal import words

LINE_BYTES = 4_000  # what is longer is counted, not kept
GAP = "gap"

# Colours and cursor moves of terminals: CSI, OSC, the other strings, and what is left of two-byte sequences.
ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~]?)"
)
# Control characters become pictures of themselves; what would turn the reading order around becomes a mark.
SHOWN = {code: 0x2400 + code for code in range(32) if chr(code) != "\t"} | {0x7F: 0x2421}
SHOWN |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
SHOWN |= dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)

FAILED = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|Traceback)\b|(?:Error|Exception):")
WARNING = re.compile(r"\bWARN(?:ING)?\b|Warning:")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece as it was kept: bytes of one rank from an offset on."""

    pk: int
    rank: int
    start: int
    body: bytes
    at: datetime

    @property
    def end(self) -> int:
        return self.start + len(self.body)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one rank, safe to show once it is escaped; `look` is empty, warning, failed or gap."""

    rank: int
    at: datetime
    text: str
    look: str = ""


@dataclass(slots=True)
class Open:
    """The beginning of a line whose end has not arrived."""

    at: datetime
    kept: bytes = b""
    lost: int = 0

    def add(self, more: bytes) -> None:
        room = max(0, LINE_BYTES - len(self.kept))
        self.kept += more[:room]
        self.lost += len(more) - len(more[:room])

    def line(self, rank: int) -> Line:
        text = clean(self.kept)
        if self.lost:
            text += f" … {words.size(self.lost)} more in this line"
        return Line(rank, self.at, text, look_of(text))


@dataclass(slots=True)
class Joiner:
    """Joins what the edges of pieces cut in two, rank by rank."""

    ends: dict[int, int] = field(default_factory=dict)  # how far each rank is known
    open: dict[int, Open] = field(default_factory=dict)

    def take(self, chunk: Chunk) -> Iterator[Line]:
        """The lines that this piece ends."""
        missing = chunk.start - self.ends.get(chunk.rank, chunk.start)
        self.ends[chunk.rank] = chunk.end
        if missing > 0:
            yield from self._broken(chunk, missing)
        *whole, rest = chunk.body.split(b"\n")
        for part in whole:
            yield self._closed(chunk, part)
        if rest:
            self.open.setdefault(chunk.rank, Open(chunk.at)).add(rest)

    def unfinished(self) -> list[Line]:
        """What has been printed of lines that are still open."""
        return [opened.line(rank) for rank, opened in sorted(self.open.items())]

    def _closed(self, chunk: Chunk, part: bytes) -> Line:
        opened = self.open.pop(chunk.rank, None) or Open(chunk.at)
        opened.add(part)
        return opened.line(chunk.rank)

    def _broken(self, chunk: Chunk, missing: int) -> Iterator[Line]:
        if opened := self.open.pop(chunk.rank, None):
            yield opened.line(chunk.rank)
        yield Line(chunk.rank, chunk.at, gap(missing), GAP)


def gap(missing: int) -> str:
    """The sentence in place of what was let go."""
    return f"… {words.size(missing)} let go here: a log keeps its beginning and its end"


def clean(raw: bytes) -> str:
    """Text without colours; of a line that was overwritten in place, as progress bars do, the last state."""
    text = ESCAPES.sub("", raw.decode("utf-8", "replace"))
    return text.rstrip("\r").rpartition("\r")[2].translate(SHOWN)


def look_of(text: str) -> str:
    """Whether a line speaks of trouble, by the words that loggers use."""
    start = text[:200]
    return "failed" if FAILED.search(start) else "warning" if WARNING.search(start) else ""


def resumed(ends: Mapping[int, int], rests: Mapping[int, tuple[bytes, datetime]]) -> Joiner:
    """A joiner that goes on where another one stopped."""
    joiner = Joiner(dict(ends))
    for rank, (rest, at) in rests.items():
        if rest:
            joiner.open[rank] = Open(at)
            joiner.open[rank].add(rest)
    return joiner
