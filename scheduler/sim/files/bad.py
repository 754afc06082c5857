"""What is wrong with an input file, and where."""

import gzip
import zlib


class BadFile(ValueError):
    """An input file that cannot be used: where to look, what is wrong, how to mend it."""

    def __init__(self, file: str, line: int, column: int | str, sentence: str) -> None:
        sentence = _on_one_line(sentence)
        super().__init__(f"{file}, line {line}, column {column}: {sentence}")
        self.file = file
        self.line = line
        self.column = column  # of a CSV its name, where it has one; of JSON the position in the line
        self.sentence = sentence

    def __reduce__(self) -> tuple[type["BadFile"], tuple[str, int, int | str, str]]:
        return BadFile, (self.file, self.line, self.column, self.sentence)


class Wrong(ValueError):
    """A value that cannot be, seen where nobody knows which file and line it stands in."""

    def __init__(self, sentence: str, column: str = "") -> None:
        super().__init__(sentence)
        self.column = column  # where the value is of more than one cell


def _on_one_line(sentence: str) -> str:
    """What a terminal can show, whatever stood in the file."""
    if len(sentence) > 600:
        sentence = f"{sentence[:300]} ... {sentence[-200:]}"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in sentence)


def spot(text: str, offset: int) -> tuple[int, int]:
    """The line and the column, both from 1, of a position in a text."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def decoded(raw: bytes, name: str) -> str:
    """The text of a file as read from disk, unpacked where it is gzipped; the other readers take it from here."""
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as why:
            raise BadFile(name, 1, 1, f"the gzip file is damaged ({why}); copy it again") from why
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        line, column = spot(raw[: why.start].decode("utf-8", "replace"), why.start)
        raise BadFile(name, line, column, "this is not UTF-8 text; save the file as UTF-8") from why
