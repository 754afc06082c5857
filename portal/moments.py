"""How moments are written for people: clock times and distances from now; now and the zone are arguments."""

from datetime import datetime, timedelta, tzinfo

from portal import words

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


def clock(at: datetime, now: datetime, zone: tzinfo) -> str:
    """15:20 today, 01:15 tomorrow, 08:30 Wed within a week, else 17 Apr."""
    here, today = at.astimezone(zone), now.astimezone(zone)
    days = (here.date() - today.date()).days
    if abs(days) >= WEEK.days:
        return _date(here, today)
    names = {0: "", 1: "tomorrow", -1: "yesterday"}
    day = names.get(days, f"{here:%a}")
    return f"{here:%H:%M}{words.NBSP}{day}" if day else f"{here:%H:%M}"


def _date(here: datetime, today: datetime) -> str:
    text = f"{here.day}{words.NBSP}{here:%b}"
    return text if here.year == today.year else f"{text}{words.NBSP}{here.year}"


def clock_exact(at: datetime, zone: tzinfo) -> str:
    """14:25:08: for logs and for what was read a moment ago."""
    return f"{at.astimezone(zone):%H:%M:%S}"


def date_line(now: datetime, zone: tzinfo) -> str:
    """Tuesday 14 April, 14:25."""
    here = now.astimezone(zone)
    return f"{here:%A} {here.day}{words.NBSP}{here:%B}, {here:%H:%M}"


def ago(at: datetime, now: datetime) -> str:
    """9 min ago. A moment ahead of our clock, by a little skew, is now."""
    return "now" if at >= now else f"{words.duration(now - at)} ago"


def since(at: datetime, now: datetime, zone: tzinfo) -> str:
    """33 min (since 13:52)."""
    return f"{words.duration(now - at)} (since {clock(at, now, zone)})"


def ahead(at: datetime, now: datetime) -> str:
    """in about 40 min: an estimate, so only its first two figures count."""
    left = (at - now).total_seconds()
    return "now" if left < 1 else f"in about {words.duration(_coarse(left))}"


def _coarse(seconds: float) -> float:
    """To the next 5 s below a minute, the next minute below ten, 5 minutes below six hours, else half hours."""
    for below, step in ((60, 5), (600, 60), (6 * 3_600, 300)):
        if seconds < below:
            return float(-(-seconds // step) * step)
    return float(-(-seconds // 1_800) * 1_800)
