"""Who comes first, and who is ahead of whom."""

from collections import Counter
from collections.abc import Iterable

from scheduler.core.model import Job


def first_come(waiting: Iterable[Job]) -> list[Job]:
    """Tier before arrival before number, so that the order never depends on how the rows were read."""
    return sorted(waiting, key=lambda job: (-job.tier, job.submitted_at, job.id))


class Line:
    """Counts, on the way down the queue, what goes on waiting and what starts."""

    def __init__(self) -> None:
        self._jobs: Counter[str] = Counter()  # waiting, by the GPU type asked for
        self._gpus: Counter[str] = Counter()
        self.took: dict[str, tuple[int, int]] = {}  # starting, by GPU type: jobs and GPUs

    def wait(self, job: Job) -> None:
        """The next in the queue stays."""
        self._jobs[job.gpu_type] += 1
        self._gpus[job.gpu_type] += job.gpus

    def start(self, job: Job, kind: str) -> None:
        """The next in the queue starts on GPUs of this type."""
        jobs, gpus = self.took.get(kind, (0, 0))
        self.took[kind] = jobs + 1, gpus + job.gpus

    def ahead(self, job: Job) -> tuple[int, int]:
        """Waiting jobs passed so far that accept a GPU type this one accepts, and their GPUs."""
        if not job.gpu_type:
            return self._jobs.total(), self._gpus.total()
        kinds = (job.gpu_type, "")
        return sum(self._jobs[kind] for kind in kinds), sum(self._gpus[kind] for kind in kinds)
