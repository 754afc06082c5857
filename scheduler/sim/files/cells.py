"""What one written value may be: the numbers, names and lists of the input files."""

from math import isfinite

from scheduler.sim.files.bad import Wrong

MOST_SECONDS = 1e15  # beyond, a double no longer tells one second from the next
MOST = 10**9


def number(cell: str) -> float:
    """A finite number, as people and programs write it."""
    try:
        value = float(cell)
    except ValueError:
        raise Wrong(f"{shown(cell)} is not a number; write digits such as 3600 or 0.5") from None
    # float() also reads 1_000 and digits of other scripts; other programs would not.
    if "_" in cell or not cell.isascii():
        raise Wrong(f"{shown(cell)} is not a number; write digits such as 3600 or 0.5")
    if not isfinite(value):
        raise Wrong(
            f"{shown(cell)} is not a finite number; write digits such as 3600, or leave a limit blank"
        )
    return value


def at_least_zero(cell: str) -> float:
    """A number that is not negative."""
    value = number(cell)
    if value < 0:
        raise Wrong(f"{shown(cell)} is negative; write 0 or more")
    return value + 0.0  # -0 becomes 0


def seconds(cell: str) -> float:
    """A span or a moment, in seconds."""
    value = at_least_zero(cell)
    if value > MOST_SECONDS:
        raise Wrong(f"{shown(cell)} is too large; write seconds, at most {MOST_SECONDS:g}")
    return value


def seconds_above_zero(cell: str) -> float:
    """A span that takes time."""
    value = seconds(cell)
    if value == 0:
        raise Wrong("0 is too small; write a number of seconds above 0, or leave the cell blank")
    return value


def amount(cell: str) -> float:
    """So much of something, for each GPU."""
    value = at_least_zero(cell)
    if value > MOST:
        raise Wrong(f"{shown(cell)} is too large; the most is {MOST:,}")
    return value


def whole(cell: str) -> int:
    """A whole number that is not negative; 8.0, as spreadsheets write it, is one."""
    value = at_least_zero(cell)
    if value != int(value):
        raise Wrong(f"{shown(cell)} is not a whole number; write one such as 8")
    if value > MOST:
        raise Wrong(f"{shown(cell)} is too large; the most is {MOST:,}")
    return int(value)


def count(cell: str) -> int:
    """A whole number of at least one."""
    value = whole(cell)
    if value == 0:
        raise Wrong("0 is too small; write 1 or more")
    return value


def share(cell: str) -> float:
    """A part of the whole, from 0 to 1."""
    value = at_least_zero(cell)
    if value > 1:
        raise Wrong(f"{shown(cell)} is above 1; write a share between 0 and 1")
    return value


def yes_or_no(cell: str) -> bool:
    """1 or 0."""
    if cell not in ("1", "0", "1.0", "0.0"):
        raise Wrong(f"{shown(cell)} is neither 1 nor 0; write 1 for yes or 0 for no")
    return cell[0] == "1"


def name(cell: str) -> str:
    """A name that can be printed in a sentence."""
    if not cell.isprintable():
        raise Wrong(f"{shown(cell)} holds a character that cannot be printed; take it out")
    return cell


def names(cell: str) -> tuple[str, ...]:
    """Names separated by |, in their order, each once."""
    found = [name(each.strip()) for each in cell.split("|")]
    if "" in found:
        raise Wrong(f"{shown(cell)} has an empty name in it; write names with one | between them")
    return tuple(dict.fromkeys(found))


def indices(cell: str) -> tuple[int, ...]:
    """GPU indices separated by |, from the lowest to the highest, each once."""
    return tuple(sorted({whole(each) for each in names(cell)}))


def shown(cell: str) -> str:
    """A value as an error shows it: quoted, and not longer than a line."""
    return repr(cell if len(cell) <= 60 else f"{cell[:57]}...")
