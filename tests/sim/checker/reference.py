"""The two plain reference policies, checked start by start where a cluster of equal nodes leaves no choice.

"Both ignore teams, tiers, quotas and preemption and keep one first-come-first-served queue …; equal submit times go
in file order. A job of up to one node goes to the fullest node that still fits, a larger one on whole free nodes with
the remainder on the freest other node, lowest name first. easy: shadow = the earliest planned end at which the head
fits; a job behind it may start if it ends by the shadow, or if … *some* placement for the head still exists at the
shadow. Planned ends come from limit_s; a blank limit_s never ends."
"""

from collections.abc import Iterator
from math import inf

from tests.sim.checker.case import Case, Seats
from tests.sim.checker.floor import Floor
from tests.sim.checker.reading import Job

TOLERANCE = 1e-6


def violations(case: Case) -> Iterator[str]:
    if not case.policy.reference or not _plain(case):
        return
    queue = Queue(case)
    now = -1.0
    for index, event in enumerate(case.events):
        if event["t"] != now:
            yield from queue.settle(now)
            now = event["t"]
        for wrong in queue.hear(index):
            yield case.say(index, wrong)


def _plain(case: Case) -> bool:
    """Equal healthy nodes and jobs that only count GPUs: then the contract's words have one meaning."""
    kinds = {(node.gpus, node.gpu_type, node.pool, node.spot, node.cpus) for node in case.nodes.values()}
    return len(kinds) == 1 and not case.faults and all(_simple(job) for job in case.jobs.values())


def _simple(job: Job) -> bool:
    constrained = job.required or job.pool or job.features or job.cpus_per_gpu or job.memory_gib_per_gpu
    timed = job.after or job.not_before_s > job.submit_s
    return not (
        constrained or timed or job.shape or job.tp > 1 or job.min_gpus < job.gpus or job.spot_share < 1
    )


class Queue:
    """Who waits, in order of submission; what is planned to end when; and by when the head was due."""

    def __init__(self, case: Case) -> None:
        self.case, self.floor = case, Floor(case)
        self.line = sorted(case.jobs.values(), key=lambda job: (job.submit_s, job.row))
        self.first = 0
        self.gone: set[str] = {event["job"] for event in case.events if event["event"] == "impossible"}
        self.running: dict[str, tuple[float, Seats]] = {}
        self.due: tuple[str, float] = ("", inf)

    def head(self) -> Job | None:
        while self.first < len(self.line) and self.line[self.first].name in self.gone:
            self.first += 1
        return self.line[self.first] if self.first < len(self.line) else None

    def hear(self, index: int) -> Iterator[str]:
        change, event = self.case.changes.get(index), self.case.events[index]
        if change is None:
            return
        name = event["job"]
        if self.case.starts(index):
            yield from self._start(index, change.run.job)
            self.gone.add(name)
            self.running[name] = (event["t"] + change.run.job.limit_s, change.taken)
        else:
            self.running.pop(name, None)
        self.floor.give(change.released)
        self.floor.take(change.taken)

    def _start(self, index: int, job: Job) -> Iterator[str]:
        head, t = self.head(), self.case.events[index]["t"]
        if head is not None and head is not job and self.case.policy.name == "fifo":
            yield f"starts ahead of {head.name}, which was submitted before it"
        if self.due[0] == job.name and t > self.due[1] + TOLERANCE:
            yield f"starts after its shadow, t={self.due[1]}"
        wrong = self.floor.misplaced(job.gpus, self.case.changes[index].taken)
        if wrong:
            yield wrong

    def settle(self, now: float) -> Iterator[str]:
        """At the end of an instant the head does not fit; easy then owes it its shadow."""
        head = self.head()
        if head is None or head.submit_s > now:
            return
        if self.floor.fits(head.gpus):
            yield f"t={now}, job {head.name}: is first in line and fits, but does not start"
        if self.case.policy.name == "easy" and self.due[0] != head.name:
            self.due = (head.name, self.floor.shadow(head.gpus, self.running.values()))
