"""Who waits, in the order of submission: a job that comes back stands where it stood."""

from bisect import bisect_left, insort
from collections.abc import Iterator


class Line:
    """Jobs are numbered by submission, so a sorted list of numbers is the queue."""

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self.by_pool: dict[str, list[int]] = {}  # the same, one list for each pool that is asked for

    def __contains__(self, job: int) -> bool:
        place = bisect_left(self.jobs, job)
        return place < len(self.jobs) and self.jobs[place] == job

    def __iter__(self) -> Iterator[int]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def join(self, job: int, pool: str) -> None:
        """Stand in line, at the place that the time of submission gives."""
        insort(self.jobs, job)
        insort(self.by_pool.setdefault(pool, []), job)

    def leave(self, job: int, pool: str) -> None:
        """Leave it: to run, or for good."""
        for jobs in (self.jobs, self.by_pool[pool]):
            del jobs[bisect_left(jobs, job)]
