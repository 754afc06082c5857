"""The runs as the core sees them, each made anew only when something about it has changed."""

from collections import Counter, deque
from heapq import heappop, heappush
from math import isfinite
from typing import NamedTuple

from scheduler.core.model import Running
from scheduler.sim.thinkers.portraits import Portraits
from scheduler.sim.thinkers.prospects import Prospects
from scheduler.sim.world import Run, World

DAY_S = 86400.0
# A run that outlives its forecast gets another one, at least so far ahead: a share of what it has run, or this.
AHEAD_SHARE, AHEAD_S = 1 / 16, 60.0


class _Held(NamedTuple):
    run: Run
    kept: float  # work of earlier runs that counts


class Holders:
    """Who holds GPUs, and what stopping or ending each of them would mean."""

    def __init__(self, portraits: Portraits, prospects: Prospects) -> None:
        self.running: dict[int, Running] = {}  # in the order of their starts
        self.seen: dict[int, float] = {}  # by job: the most work it was seen to do without coming to its end
        self.user_stops: Counter[str] = Counter()  # within a day
        self._portraits, self._prospects = portraits, prospects
        self._held: dict[int, _Held] = {}
        self._changed: dict[int, None] = {}  # jobs whose run is to be looked at
        self._again: list[tuple[float, int]] = []  # when to look at the run of a job without being told
        self._stops: deque[tuple[float, str]] = deque()  # within a day, by user

    def change(self, job: int) -> None:
        """Its run begins, is asked to go, or gets another seat: look at it before the next thought."""
        self._changed[job] = None

    def end(self, job: int) -> None:
        """Its run is over, and the job as well."""
        self._changed.pop(job, None)
        self._held.pop(job, None)
        self.running.pop(job, None)
        self.seen.pop(job, None)

    def stop(self, world: World, job: int) -> None:
        """Its run is over, but the job is not: remember how far it was seen to come."""
        self.witness(world, job)
        held, running = self._held.pop(job, None), self.running.pop(job, None)
        if held and running and held.run.asked and world.lives[job].stops:
            self._stops.append((world.lives[job].stops[-1], running.user))
            self.user_stops[running.user] += 1

    def witness(self, world: World, job: int) -> None:
        """Whatever is lost now, it has run so long without coming to its end."""
        held = self._held.get(job)
        if held is not None:
            self.seen[job] = max(self.seen.get(job, 0.0), held.kept + held.run.progress.done(world.now))

    def look(self, world: World) -> None:
        """Bring the runs up to date."""
        while self._stops and self._stops[0][0] + DAY_S <= world.now:
            self.user_stops[self._stops.popleft()[1]] -= 1
        while self._again and self._again[0][0] <= world.now:
            job = heappop(self._again)[1]
            if job in self.running:
                self._changed[job] = None
        for job in self._changed:
            run = world.running.get(job)
            if run is not None:
                self._look_at(world, run)
        self._changed.clear()

    def _look_at(self, world: World, run: Run) -> None:
        held = self._held.get(run.job)
        if held is None or held.run is not run:
            held = self._held[run.job] = _Held(run, world.lives[run.job].kept)
        self.running[run.job] = self._portray(world, held)

    def _portray(self, world: World, held: _Held) -> Running:
        run, progress = held.run, held.run.progress
        ask, life, portrait = world.asks[run.job], world.lives[run.job], self._portraits.of(world, run.job)
        ends_by = run.ends_by
        today = stops_today(world, run.job)
        if today:
            heappush(self._again, (today[0] + DAY_S, run.job))
        return Running(
            job=run.job,
            team=ask.team,
            tier=ask.tier,
            gpu_type=run.gpu_type,
            seats=run.seats,
            request=portrait.request,
            started_at=run.started,
            user=portrait.user,
            submitted_at=ask.submit_s,
            version=run.number,
            ends_by=ends_by if isfinite(ends_by) else None,
            expected_end=self._expected(world, held, ends_by),
            seen_s=self.seen.get(run.job, 0.0),
            saved_at=None if ask.checkpoint_s is None else progress.saved_at(world.now),
            useful_from=progress.since if isfinite(progress.since) else None,
            preemptible=ask.preemptible,
            checkpoints=portrait.saves,
            restart_s=ask.restart_s,
            stops=len(life.stops),
            stops_today=len(today),
            stopping=run.asked is not None,
            asked_at=run.asked.at if run.asked else None,
        )

    def _expected(self, world: World, held: _Held, ends_by: float) -> float:
        """When it should come to its end: half of those like it that ran so long had ended by then."""
        run, now = held.run, world.now
        if run.asked:
            return run.asked.gone_at
        seen = max(self.seen.get(run.job, 0.0), held.kept + run.progress.done(now))
        sort = self._portraits.of(world, run.job).sort
        left = self._prospects.resumed(sort, seen=seen, done=held.kept).p50_s
        at = max(run.progress.when(left), now + max(AHEAD_S, (now - run.started) * AHEAD_SHARE))
        if at < ends_by:
            heappush(self._again, (at, run.job))
        return min(at, ends_by)


def stops_today(world: World, job: int) -> list[float]:
    """When it was stopped for others within the last 24 hours."""
    return [stop for stop in world.lives[job].stops if stop + DAY_S > world.now]
