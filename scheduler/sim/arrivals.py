"""How jobs come: submission, what they follow, the time before which they must not start, and what can never run."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from scheduler.sim import events
from scheduler.sim.thinker import HORIZON_S, Thinker
from scheduler.sim.world import Phase, World

FAILED = {Phase.LIMIT: "was stopped at its time limit", Phase.IMPOSSIBLE: "can never run"}


class Arrivals:
    """The door of the replay."""

    def __init__(self, world: World, thinker: Thinker, tell: Callable[[events.Event], None]) -> None:
        self.world = world
        self.thinker = thinker
        self.tell = tell
        self._later: list[tuple[float, int]] = []  # jobs that must not start before a time
        number_of = world.number_of()
        self._follows = {
            job: [number_of[name] for name in ask.after] for job, ask in enumerate(world.asks) if ask.after
        }
        self._followers: dict[int, list[int]] = {}
        for job, firsts in self._follows.items():
            for first in firsts:
                self._followers.setdefault(first, []).append(job)

    def next_time(self) -> float:
        """When the next job is submitted, or may start; infinite when none is left."""
        world = self.world
        coming = world.asks[world.come].submit_s if world.come < len(world.asks) else inf
        return min(coming, self._later[0][0] if self._later else inf)

    def admit(self) -> None:
        """Let in everything whose time has come, in the order of submission."""
        world = self.world
        while self._later and self._later[0][0] <= world.now:
            self._open(heappop(self._later)[1])
        while world.come < len(world.asks) and world.asks[world.come].submit_s <= world.now:
            self._submit(world.come)
            world.come += 1

    def finished(self, job: int) -> None:
        """Those who follow it may have waited for nothing else."""
        for follower in self._followers.get(job, ()):
            if follower in self.world.blocked:
                self.world.blocked[follower] -= 1
                self._open(follower)

    def failed(self, job: int) -> None:
        """It will never finish, so none of those who follow it will ever run."""
        world, failed = self.world, [job]
        while failed:
            first = failed.pop()
            for follower in self._followers.get(first, ()):
                if follower in world.blocked:
                    del world.blocked[follower]
                    self._never(follower, self._why_never(first))
                    failed.append(follower)

    def _submit(self, job: int) -> None:
        world, ask = self.world, self.world.asks[job]
        self.tell(events.Submitted(world.now, ask.job))
        why = self._hopeless(job) or self.thinker.impossible(world, job)
        far = world.now + HORIZON_S
        p50, p90 = (far, far) if why else self.thinker.estimate(world, job)
        self.tell(events.Estimated(world.now, ask.job, p50, p90))
        if why:
            self._never(job, why)
            self.failed(job)
            return
        world.lives[job].phase = Phase.BLOCKED
        firsts = self._follows.get(job, ())
        world.blocked[job] = sum(world.lives[first].phase is not Phase.FINISHED for first in firsts)
        if ask.not_before_s > world.now:
            heappush(self._later, (ask.not_before_s, job))
        self._open(job)

    def _open(self, job: int) -> None:
        """Let it stand in line, unless something still holds it back."""
        world, ask = self.world, self.world.asks[job]
        if world.blocked.get(job) == 0 and ask.not_before_s <= world.now:
            del world.blocked[job]
            world.lives[job].phase = Phase.WAITING
            world.line.join(job, ask.pool)

    def _hopeless(self, job: int) -> str:
        lost = (first for first in self._follows.get(job, ()) if self.world.lives[first].phase in FAILED)
        first = next(lost, None)
        return "" if first is None else self._why_never(first)

    def _why_never(self, first: int) -> str:
        return f"follows {self.world.asks[first].job}, which {FAILED[self.world.lives[first].phase]}"

    def _never(self, job: int, why: str) -> None:
        self.world.lives[job].phase = Phase.IMPOSSIBLE
        self.tell(events.Impossible(self.world.now, self.world.asks[job].job, why))
