"""Why one job comes before another: the first thing in which they differ, with its figures."""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.core.hurry import latest_start
from scheduler.core.model import Job
from scheduler.core.scale import Key, Scale, times

Turn = tuple[bool, Key]  # how a job stood at its turn: it borrows, and its key


@dataclass(frozen=True, slots=True)
class Rule:
    """The reason for an order: ours comes behind theirs, or before it."""

    by: str  # "tier", "quota", "priority", "team", "user", "deadline", "submitted" or "number"
    ours: str = ""  # the tier; "inside" or "borrows"; the team or user at the level where they differ
    theirs: str = ""
    our_times: float = 0.0  # team and user: how many times its share it used; inf = its share is none
    their_times: float = 0.0


def rule(ours: tuple[Job, Turn], theirs: tuple[Job, Turn], scale: Scale) -> Rule:
    """Compared as the line compares them."""
    (job, (borrows, _)), (other, (lends, _)) = ours, theirs
    if job.tier != other.tier:
        return Rule("tier", job.tier.word, other.tier.word)
    if borrows != lends:
        words = ("inside", "borrows")
        return Rule("quota", words[borrows], words[lends])
    return next(_by_share(ours, theirs, scale), None) or _by_time(job, other)


def _by_share(ours: tuple[Job, Turn], theirs: tuple[Job, Turn], scale: Scale) -> Iterator[Rule]:
    (job, (borrows, key)), (other, (_, their_key)) = ours, theirs
    *levels, used = zip(key, their_key, strict=True)
    for place, (mine, yours) in enumerate(levels):
        depth = place // 2 if borrows else place  # surplus: a priority before each ratio
        level, their_level = scale.level(job.team, depth), scale.level(other.team, depth)
        if level is their_level or mine == yours:  # what starts between two turns moves both alike
            continue
        if borrows and place % 2 == 0:
            yield Rule("priority", level.name, their_level.name)
        # One measure for both, so that the figures stand to each other as the ratios that decided.
        measure = level if mine > yours else their_level
        yield Rule("team", level.name, their_level.name, times(mine, measure), times(yours, measure))
    if (job.team, job.user) != (other.team, other.user) and used[0] != used[1]:
        team = job.team if used[0] > used[1] else other.team
        yield Rule("user", job.user, other.user, *(scale.user_times(one, team) for one in used))


def _by_time(job: Job, other: Job) -> Rule:
    if latest_start(job) != latest_start(other):
        return Rule("deadline")
    return Rule("submitted" if job.submitted_at != other.submitted_at else "number")
