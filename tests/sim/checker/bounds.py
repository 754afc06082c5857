"""The promise to production inside its quota: it starts within a bound wherever the checker can show that it could.

"Production jobs inside their team's nominal quota that ask for at most one node, or for whole nodes without a
required topology, start within a bound that the page states: the longest minimum runtime left of what may be
stopped + grace + one cycle." A wait beyond it is a violation only where one fixed set of nodes had room in free
GPUs and in runs that may surely be stopped, from the moment the job could start until the bound was over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop

from tests.sim.checker.case import Case
from tests.sim.checker.gang import may_not
from tests.sim.checker.places import room_on
from tests.sim.checker.reading import TIERS, Job
from tests.sim.checker.room import Room

TOLERANCE = 1e-6
PRODUCTION = TIERS.index("production")
# So many late jobs are watched at a time: enough to prove a broken promise, and it keeps the check linear.
WATCHED = 64


@dataclass(slots=True)
class Watch:
    """A job that waited longer than the bound, and the nodes that have had room for it all along."""

    job: Job
    since: float
    until: float
    nodes: set[str]
    kinds: set[str]

    def enough(self, case: Case) -> bool:
        """Whether some nodes of one type are still enough for the job."""
        by_type: dict[str, int] = {}
        for name in self.nodes:
            node = case.nodes[name]
            by_type[node.gpu_type] = by_type.get(node.gpu_type, 0) + node.gpus
        return any(gpus >= self.job.gpus for gpus in by_type.values())

    def small(self, case: Case, name: str) -> bool:
        return self.job.gpus <= case.nodes[name].gpus and (self.job.shape is None or self.job.shape[0] == 1)

    def needs_on(self, case: Case, name: str) -> int:
        return self.job.gpus if self.small(case, name) else case.nodes[name].gpus


def violations(case: Case) -> Iterator[str]:
    bound = _bound(case)
    if bound is None:
        return
    late = _late(case, bound)
    heapify(late)
    room, active = Room(case), list[Watch]()
    now = -1.0
    for index, event in enumerate(case.events if late else ()):
        if event["t"] != now:
            _keep(case, room, active)
            while late and late[0][0] < event["t"] and len(active) < WATCHED:
                active += _begin(case, room, case.jobs[heappop(late)[1]], bound)
            for watch in [watch for watch in active if watch.until + TOLERANCE < event["t"]]:
                active.remove(watch)
                yield _sentence(watch, bound)
            now = event["t"]
        room.hear(index)
        if event["event"] == "start":
            active = [watch for watch in active if watch.job.name != event["job"]]


def _bound(case: Case) -> float | None:
    policy = case.policy
    runtimes = [least for least in policy.min_runtime_s if least is not None]
    if (
        policy.reference
        or policy.forbids
        or policy.ages
        or policy.grace_s is None
        or policy.cycle_s is None
        or len(runtimes) < len(TIERS)
    ):
        return None
    return max(runtimes) + policy.grace_s + policy.cycle_s


def _late(case: Case, bound: float) -> list[tuple[float, str]]:
    """Production jobs that waited longer than the bound, by the moment from which they could start."""
    finishes = {event["job"]: event["t"] for event in case.events if event["event"] == "finish"}
    hopeless = {event["job"] for event in case.events if event["event"] in {"impossible", "unfinished"}}
    late: list[tuple[float, str]] = []
    end = case.events[-1]["t"] if case.events else 0.0
    for name, job in case.jobs.items():
        simple = job.tier == PRODUCTION and not job.cpus_per_gpu and not job.memory_gib_per_gpu
        if not simple or name in hopeless or any(other not in finishes for other in job.after):
            continue
        since = max(job.submit_s, job.not_before_s, *(finishes[other] for other in job.after), 0.0)
        start = next((case.events[index]["t"] for index in case.by_job[name] if case.starts(index)), end)
        if start > since + bound + TOLERANCE:
            late.append((since, name))
    return late


def _begin(case: Case, room: Room, job: Job, bound: float) -> list[Watch]:
    since = max(room.now, job.submit_s, job.not_before_s)
    watch = Watch(job, since, since + bound, set(), set())
    watch.nodes = {
        name for name in case.nodes if _suits(case, watch, name) and _has_room(case, room, watch, name)
    }
    watch.kinds = {case.nodes[name].gpu_type for name in watch.nodes}
    return [watch] if watch.enough(case) else []


def _suits(case: Case, watch: Watch, name: str) -> bool:
    """Whether the node could be part of a place: the whole place, or one of several whole nodes."""
    job, node = watch.job, case.nodes[name]
    if may_not(job, node) or (node.spot and job.spot_share < 1):
        return False
    if watch.small(case, name):
        return True
    whole = job.gpus % node.gpus == 0 if job.shape is None else job.shape[1] == node.gpus
    return whole and not job.required


def _has_room(case: Case, room: Room, watch: Watch, name: str) -> bool:
    job, node = watch.job, case.nodes[name]
    needed = watch.needs_on(case, name)
    return room.inside(job, node.gpu_type) and room_on(node, job, room.stoppable(job, name)) >= needed


def _keep(case: Case, room: Room, active: list[Watch]) -> None:
    """Drops nodes that lost their room in the instant that is over, and watches that lost their nodes."""
    touched, room.touched = room.touched, set()
    if room.broke:
        active.clear()  # a fault voids every plan, so nothing can be shown
    for watch in list(active):
        kinds = {kind for kind in watch.kinds if not room.inside(watch.job, kind)}
        lost = {name for name in touched & watch.nodes if not _has_room(case, room, watch, name)}
        if kinds:
            lost |= {name for name in watch.nodes if case.nodes[name].gpu_type in kinds}
            watch.kinds -= kinds
        watch.nodes -= lost
        if lost and not watch.enough(case):
            active.remove(watch)
    room.broke = False


def _sentence(watch: Watch, bound: float) -> str:
    where = ", ".join(sorted(watch.nodes)[:3])
    return (
        f"t={watch.until}, job {watch.job.name}: production inside its quota waits longer than the bound of"
        f" {bound:g} s, though {where} had room in free and stoppable GPUs all along"
    )
