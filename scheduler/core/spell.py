"""How the numbers of a verdict are written in a sentence."""

from collections.abc import Sequence
from datetime import UTC, datetime

from scheduler.core.model import Fact, Facts

DAY = 24 * 60
# Not strftime's: its names depend on the machine's locale.
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Told:
    """The numbers of a verdict, each spelled as its kind asks."""

    def __init__(self, numbers: Facts, now: datetime | None) -> None:
        self._numbers = numbers
        self._now = now

    def __contains__(self, key: str) -> bool:
        return key in self._numbers

    def said(self, key: str) -> bool:
        """Whether there is such a name, and it is not empty."""
        return key in self._numbers and bool(self._numbers[key])

    def number(self, key: str) -> int:
        """A whole number, to choose words by."""
        return int(_plain(self._numbers[key]))

    def count(self, key: str) -> str:
        """A number as it is written."""
        return count(_plain(self._numbers[key]))

    def text(self, key: str) -> str:
        """A name or a phrase."""
        return str(self._numbers[key])

    def words(self, key: str) -> list[str]:
        """A list of names."""
        value = self._numbers[key]
        return [str(word) for word in value] if isinstance(value, list) else [str(value)]

    def time(self, key: str) -> str:
        """A time of day, kept in ISO format."""
        return clock(datetime.fromisoformat(self.text(key)), self._now)

    def lasting(self, key: str) -> str:
        """A duration, kept in minutes."""
        return lasting(self.number(key))

    def in_about(self, key: str) -> str:
        """A time ahead, kept in minutes from the snapshot on."""
        return in_about(self.number(key))

    def job(self, key: str) -> str:
        """Which job: by its number, a name and so without a comma; or only whose, where the reader may not see it."""
        value = self._numbers[key]
        return f"a job {value}" if isinstance(value, str) else f"job {value}"

    def end(self) -> str:
        """When an end brings something back, and whose end; certain where limits alone say so."""
        certain = self.number("certain")
        latest = " at the latest" if certain else ""
        ends = "ends" if certain else "should end"
        whose = f", when {self.job('ends_job')} {ends}" if "ends_job" in self else ""
        return f"{self.in_about('ends_in_min')}{latest}{whose}"

    def times(self, key: str) -> str:
        """Use against share."""
        value = self._numbers[key]
        return "without any share" if isinstance(value, str) else f"{count(_plain(value))} x its share"


def _plain(value: Fact) -> int | float:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{value!r} is not a number")


def count(number: float) -> str:
    """1024 -> "1,024"."""
    return f"{number:,}"


def many(number: int, noun: str) -> str:
    """3, "job" -> "3 jobs"."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def be(number: int) -> str:
    """0 or 1 is, 2 are."""
    return "are" if number > 1 else "is"


def listed(words: Sequence[str]) -> str:
    """A100, B200, H100 -> "A100, B200 and H100"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def lasting(minutes: int) -> str:
    """A duration: "18 min", "5 h 40 min", "3 d 4 h"."""
    days, rest = divmod(minutes, DAY)
    hours, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (0 if days else left, "min")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 min"


def in_about(minutes: int) -> str:
    """A time ahead: "in about 40 min", "in about 2 h 30 min", "in about 3 days"."""
    return f"in about {lasting(minutes) if minutes < DAY else many(round(minutes / DAY), 'day')}"


def clock(at: datetime, now: datetime | None) -> str:
    """A time of day in the zone of `now`, with the day when it is not today; without `now` in UTC."""
    there = at.astimezone(UTC if now is None else now.tzinfo)
    days = None if now is None else (there.date() - now.date()).days
    date = f"{there.day} {MONTHS[there.month - 1]}"
    match days:
        case None:
            return f"{there:%H:%M} UTC on {date}"
        case 0:
            return f"{there:%H:%M}"
        case 1:
            return f"{there:%H:%M} tomorrow"
        case 2 | 3 | 4 | 5 | 6:
            return f"{there:%H:%M} {WEEKDAYS[there.weekday()]}"
        case _:
            return f"{there:%H:%M} on {date}"
