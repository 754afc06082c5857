"""CPUs and memory of a node: what its runs take together is never more than it has."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.checker.case import Case, Seats
from tests.sim.checker.reading import Job

TOLERANCE = 1e-6


class Taken:
    """CPUs and memory in use, by node."""

    def __init__(self) -> None:
        self.cpus: dict[str, float] = defaultdict(float)
        self.memory: dict[str, float] = defaultdict(float)

    def add(self, job: Job, seats: Seats, sign: int) -> None:
        for node, gpus in seats.items():
            self.cpus[node] += sign * len(gpus) * job.cpus_per_gpu
            self.memory[node] += sign * len(gpus) * job.memory_gib_per_gpu


def violations(case: Case) -> Iterator[str]:
    taken = Taken()
    for index, change in sorted(case.changes.items()):
        job = change.run.job
        taken.add(job, change.released, -1)
        taken.add(job, change.taken, +1)
        for name in change.taken if job.cpus_per_gpu or job.memory_gib_per_gpu else ():
            node = case.nodes[name]
            if taken.cpus[name] > node.cpus + TOLERANCE:
                yield case.say(index, f"brings {name} to {taken.cpus[name]:g} of its {node.cpus:g} CPUs")
            if taken.memory[name] > node.memory_gib + TOLERANCE:
                yield case.say(
                    index, f"brings {name} to {taken.memory[name]:g} of its {node.memory_gib:g} GiB"
                )
