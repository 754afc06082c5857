"""Which jobs of people who stand even go first: least slack, then first come, then by number."""

from collections.abc import Callable, Iterable
from math import inf
from operator import attrgetter

from scheduler.core.model import Job

_NUMBER: Callable[[Job], int] = attrgetter("id")
_SUBMISSION: Callable[[Job], float] = attrgetter("submitted_at")


def latest_start(job: Job) -> float:
    """When it must start to make its deadline, as far as is known; without one it is in no hurry."""
    if job.deadline is None:
        return inf
    expected = job.forecast_s if job.forecast_s is not None else job.limit_s
    return job.deadline - (expected or 0.0)


def arranged(jobs: Iterable[Job]) -> list[Job]:
    """Least slack, then first come, then by number, so that no order depends on how the rows were read."""
    line = sorted(jobs, key=_NUMBER)
    line.sort(key=_SUBMISSION)
    if any(job.deadline is not None for job in line):
        line.sort(key=latest_start)
    return line
