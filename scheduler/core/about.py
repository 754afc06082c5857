"""Moments and durations as they go into numbers: rounded, so that a stored verdict changes when its words do."""

from datetime import UTC, datetime
from math import ceil, floor

from scheduler.core.model import Moment

GRIDS = ((10, 1), (120, 5), (24 * 60, 30))  # up to so many minutes, round to so many
DAY = 24 * 60
LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def about_minutes(wait_s: float) -> int:
    """Round up, so that "at the latest" stays true."""
    minutes = max(1, ceil(wait_s / 60))
    return ceil(minutes / _step(minutes)) * _step(minutes)


def under_minutes(span_s: float) -> int:
    """Round down, so that whoever stays under it is inside."""
    minutes = max(0, floor(span_s / 60))
    return minutes // _step(minutes) * _step(minutes)


def whole_minutes(span_s: float) -> int:
    """A duration that somebody wrote himself."""
    return max(1, round(min(span_s, LATEST) / 60))


def stamp(moment: Moment) -> str:
    """A moment in ISO format, to the minute that has it behind it."""
    return datetime.fromtimestamp(ceil(min(moment, LATEST) / 60) * 60, UTC).isoformat()


def _step(minutes: int) -> int:
    return next((step for limit, step in GRIDS if minutes <= limit), DAY)
