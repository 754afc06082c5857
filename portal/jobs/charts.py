"""Rows to pictures for the pages about jobs; pure."""

from dataclasses import dataclass

from portal import words
from portal.jobs.capacity import Level


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """A team's quota as a bar: lengths in percent of it, and the same in words."""

    level: Level
    asked: int
    used_width: str
    asked_width: str
    mark: str  # where the nominal quota ends
    said: str

    @property
    def anchor(self) -> str:
        return anchor(self.level)

    @property
    def limit(self) -> int | None:
        return limit_shown(self.level)

    @property
    def borrows(self) -> int:
        """How many GPUs more than its own the team would hold with this job."""
        return max(0, self.level.held + self.asked - self.level.nominal)

    @property
    def over(self) -> int:
        """How many GPUs more than it may hold with all that it may borrow."""
        limit = self.level.limit
        return 0 if limit is None else max(0, self.level.held + self.asked - limit)

    @property
    def never(self) -> bool:
        """Whether this job alone is more than that."""
        return self.level.limit is not None and self.asked > self.level.limit


def anchor(level: Level) -> str:
    """To which side of the mark the number of a quota stands: there must be room for it."""
    return "start" if level.nominal * 3 < max(level.limit or 0, level.held) else "end"


def limit_shown(level: Level) -> int | None:
    """The number at the end of the bar, where it can be borrowed and stands clear of the one at the mark."""
    return level.limit if level.limit and level.nominal * 5 <= level.limit * 4 else None


def quota_bar(level: Level, asked: int = 0) -> QuotaBar:
    """What is held, what this job would add, and where the quota ends."""
    whole = max(level.limit or level.nominal, level.held + asked, 1)
    said = f"{level.team}, {level.gpu_type}: {words.count(level.held)} of {words.count(level.nominal)} held"
    if asked:
        said += f", {words.count(asked)} for this job"
    return QuotaBar(
        level=level,
        asked=asked,
        used_width=_percent(level.held, whole),
        asked_width=_percent(asked, whole),
        mark=_percent(level.nominal, whole),
        said=said,
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.4g}%"
