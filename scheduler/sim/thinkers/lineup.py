"""The waiting jobs as the core sees them, each made anew only when something about it has changed."""

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush

from scheduler.core.model import Gate, Job
from scheduler.core.reasons import Reason
from scheduler.sim.thinkers.holders import DAY_S, Holders, stops_today
from scheduler.sim.thinkers.portraits import Portraits
from scheduler.sim.thinkers.prospects import Prospects, Sort
from scheduler.sim.world import Phase, World


class Lineup:
    """Who waits: those in line, and those whom a time or another job holds back."""

    def __init__(self, portraits: Portraits, prospects: Prospects, holders: Holders) -> None:
        self._portraits, self._prospects, self._holders = portraits, prospects, holders
        self._jobs: dict[int, Job] = {}
        self._fresh: defaultdict[Sort, set[int]] = defaultdict(set)  # those who never ran
        self._gated: dict[int, int] = {}  # of how many others each waits for
        self._line: list[int] | None = []  # as it was when it was looked at; None = nobody looked since
        self._tuple: tuple[Job, ...] | None = None
        self._again: list[tuple[float, int]] = []  # when time alone changes something about a job
        self._number_of: dict[str, int] = {}

    @property
    def waiting(self) -> tuple[Job, ...]:
        """Everybody, the same tuple while nothing changes."""
        if self._tuple is None:
            self._tuple = tuple(self._jobs.values())
        return self._tuple

    @property
    def changes_at(self) -> float | None:
        """When time alone changes something about one of them."""
        return self._again[0][0] if self._again else None

    def __contains__(self, job: int) -> bool:
        return job in self._jobs

    def job(self, job: int) -> Job:
        """One of them."""
        return self._jobs[job]

    def expect(self, world: World, job: int) -> None:
        """It is being submitted at this moment, and stands in line as soon as that is done."""
        self._line, left = None, len(self.unfinished(world, job))
        self._stand(world, job, left if left or world.asks[job].not_before_s > world.now else None)

    def look(self, world: World, outdated: Iterable[Sort]) -> None:
        """Bring the line up to date; `outdated`: of whom history says something else than before."""
        if self._line != world.line.jobs or self._gated != world.blocked:
            self._compare(world)
        changed = {job for sort in outdated for job in self._fresh.get(sort, ())}
        while self._again and self._again[0][0] <= world.now:
            changed.add(heappop(self._again)[1])
        for job in sorted(changed & self._jobs.keys()):
            self._stand(world, job, self._gated.get(job))

    def same(self, world: World) -> bool:
        """Whether exactly those stand in line who are expected to."""
        return [job for job in sorted(self._jobs) if job not in self._gated] == world.line.jobs

    def _compare(self, world: World) -> None:
        now = {*world.line.jobs, *world.blocked}
        for job in self._jobs.keys() - now:
            self._leave(world, job)
        for job in sorted(now - self._jobs.keys()):
            if job in self._holders.running:
                self._holders.stop(world, job)
            self._stand(world, job, world.blocked.get(job))
        for job in [job for job, left in self._gated.items() if world.blocked.get(job) != left]:
            self._stand(world, job, world.blocked.get(job))
        self._line = world.line.jobs.copy()

    def portray(self, world: World, job: int, left: int | None = None) -> Job:
        """A job as it stands here now; `left`: something holds it back, among it so many unfinished jobs."""
        ask, life, portrait = world.asks[job], world.lives[job], self._portraits.of(world, job)
        seen = self._holders.seen.get(job, 0.0)
        rest = self._prospects.resumed(portrait.sort, seen=seen, done=life.kept).within(life.limit_s)
        return Job(
            id=job,
            version=life.runs,
            team=ask.team,
            user=portrait.user,
            tier=ask.tier,
            submitted_at=ask.submit_s,
            request=portrait.request,
            limit_s=life.limit_s,
            forecast_s=rest.index_s,
            p90_s=rest.p90_s,
            seen_s=seen,
            preemptible=ask.preemptible,
            checkpoints=portrait.saves,
            restart_s=ask.restart_s,
            deadline=ask.deadline_s,
            gate=None if left is None else _gate(world, job, left),
            stops=len(life.stops),
            stops_today=len(stops_today(world, job)),
            stopped_at=life.stops[-1] if life.stops else None,
            ran_until=life.ran_until,
        )

    def _stand(self, world: World, job: int, left: int | None) -> None:
        self._jobs[job] = made = self.portray(world, job, left)
        self._gated.pop(job, None)
        if left is not None:
            self._gated[job] = left
        if made.seen_s == 0.0:
            self._fresh[self._portraits.of(world, job).sort].add(job)
        if made.gate and made.gate.until is not None:
            heappush(self._again, (made.gate.until, job))
        if made.stops_today:
            heappush(self._again, (stops_today(world, job)[0] + DAY_S, job))
        self._tuple = None

    def _leave(self, world: World, job: int) -> None:
        self._fresh[self._portraits.of(world, job).sort].discard(job)
        self._gated.pop(job, None)
        del self._jobs[job]
        self._tuple = None

    def unfinished(self, world: World, job: int) -> list[int]:
        """The jobs that it follows and that have not finished."""
        if not self._number_of:
            self._number_of = world.number_of()
        firsts = [self._number_of[name] for name in world.asks[job].after]
        return [first for first in firsts if world.lives[first].phase is not Phase.FINISHED]


def _gate(world: World, job: int, left: int) -> Gate:
    ask = world.asks[job]
    if ask.not_before_s > world.now:
        return Gate(Reason.NOT_BEFORE, until=ask.not_before_s)
    return Gate(Reason.DEPENDS, {"name": ask.after[0], "state": "not finished", "jobs": left})
