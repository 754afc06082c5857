"""Who is ahead of whom: counts of what goes on waiting and of what starts, on the way down the line."""

from scheduler.core.model import Job


class Ahead:
    """Jobs and GPUs by the GPU types that they accept."""

    def __init__(self) -> None:
        self._passed: dict[tuple[str, ...], tuple[int, int]] = {}
        self.took: dict[str, tuple[int, int]] = {}  # starting, by GPU type: jobs and GPUs

    def passed(self, job: Job) -> None:
        """The next in line goes on waiting."""
        jobs, gpus = self._passed.get(job.request.gpu_types, (0, 0))
        self._passed[job.request.gpu_types] = jobs + 1, gpus + job.request.gpus

    def started(self, kind: str, gpus: int) -> None:
        """The next in line starts on GPUs of this type."""
        jobs, before = self.took.get(kind, (0, 0))
        self.took[kind] = jobs + 1, before + gpus

    def of(self, job: Job) -> tuple[int, int]:
        """Jobs passed so far that accept a GPU type this one accepts, and the GPUs they ask for."""
        wanted = job.request.gpu_types
        near = [
            count
            for types, count in self._passed.items()
            if not types or not wanted or not set(types).isdisjoint(wanted)
        ]
        return sum(jobs for jobs, _ in near), sum(gpus for _, gpus in near)
