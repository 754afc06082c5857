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
    def over(self) -> int:
        """How many GPUs more than the quota it would be with this job."""
        return max(0, self.level.held + self.asked - self.level.nominal)


def quota_bar(level: Level, asked: int = 0) -> QuotaBar:
    """What is held, what this job would add, and where the quota ends."""
    whole = max(level.nominal, level.held + asked, 1)
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
