"""Begins, stops, swaps and ends runs: each deed keeps every count right and tells itself as an event."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from scheduler.sim import events, legal, work
from scheduler.sim.decisions import AskStop, Start, Swap
from scheduler.sim.world import Past, Phase, Request, Run, World


class Runs:
    """The hands of the clock, as far as runs are concerned."""

    def __init__(self, world: World, tell: Callable[[events.Event], None]) -> None:
        self.world = world
        self.tell = tell
        # When runs end, by what is known now. An entry counts while its number is the newest of its job.
        self._ends: list[tuple[float, int, int]] = []  # time, number, job
        self._newest: dict[int, int] = {}  # by job
        self._foreseen = 0

    def start(self, start: Start) -> None:
        """A waiting job gets its seats, all at once."""
        world, job = self.world, start.job
        cells = world.site.cells(start.seats)
        legal.may_start(world, start, cells)
        ask, life = world.asks[job], world.lives[job]
        world.line.leave(job, ask.pool)
        world.freed_for.pop(job, None)
        life.phase = Phase.RUNNING
        life.runs += 1
        life.limit_s = start.limit_s if life.limit_s is None else life.limit_s
        life.first_start = world.now if life.first_start is None else life.first_start
        progress = work.begin(world.now, ask, number=life.runs, held=len(cells))
        kind = world.site.types[start.seats[0].node]
        run = Run(job, life.runs, start.seats, cells, kind, world.now, progress, life.limit_s)
        world.running[job] = run
        world.floor.take(run.seats, cells, job=job, ask=ask)
        self._count(run, len(cells))
        self._foresee(run)
        places = tuple(map(world.site.place, run.seats))
        self.tell(events.Started(world.now, ask.job, run.number, places))

    def ask(self, ask: AskStop) -> None:
        """From now on the run works no more; it goes when it has saved, or when its grace is over."""
        world = self.world
        legal.may_ask(world, ask)
        run, wanted = world.running[ask.job], world.asks[ask.job]
        run.progress.freeze(world.now)
        delay, acks = work.answer(wanted.checkpoint_s, world.policy.grace_s)
        run.asked = Request(world.now, ask.why, ask.sake, world.now + delay, acks)
        self._foresee(run)
        self.tell(events.Asked(world.now, wanted.job, run.number, ask.why, world.asks[ask.sake].job))

    def swap(self, swap: Swap) -> None:
        """A lost seat is replaced; the run goes on from its last checkpoint."""
        world = self.world
        legal.may_swap(world, swap, world.site.cells((swap.into,)))
        ask, run = world.asks[swap.job], world.running[swap.job]
        lost = next(seat for seat in run.seats if seat.node == swap.out)
        world.floor.leave((lost,), world.site.cells((lost,)), ask)
        world.floor.take((swap.into,), world.site.cells((swap.into,)), job=swap.job, ask=ask)
        run.seats = tuple(swap.into if seat is lost else seat for seat in run.seats)
        run.cells = world.site.cells(run.seats)
        left = tuple(row for row in world.broken.pop(swap.job) if row != swap.out)
        if left:
            world.broken[swap.job] = left
        lost_gpu_s = run.progress.roll_back(world.now)
        self._foresee(run)
        told = (ask.job, run.number, world.site.names[swap.out], world.site.place(swap.into), lost_gpu_s)
        self.tell(events.Swapped(world.now, *told))

    def hurt(self, job: int, row: int) -> None:
        """It lost GPUs on a node: it will not reach its end, not even one of this very instant."""
        self._newest.pop(job, None)
        lost = self.world.broken.get(job, ())
        self.world.broken[job] = lost if row in lost else (*lost, row)

    def lose(self, job: int) -> None:
        """Its place is gone and nothing replaces it: the job waits again, where it stood."""
        self.world.broken.pop(job, None)
        self._stop(self.world.running[job], "node_lost", acked=False)
        self._line_up(job)

    def next_end(self) -> float:
        """When the next run ends, if nothing happens before; infinite when nothing runs."""
        while self._ends and self._newest.get(self._ends[0][2]) != self._ends[0][1]:
            heappop(self._ends)
        return self._ends[0][0] if self._ends else inf

    def end(self) -> int:
        """Let the run end whose time has come; returns its job, whose phase says how it ended."""
        job = heappop(self._ends)[2]
        run = self.world.running[job]
        if run.asked:
            sake = self.world.asks[run.asked.sake].job
            self._stop(run, run.asked.why, sake=sake, acked=run.asked.acks)
            self._give_way(run, run.asked)
            self._line_up(job)
        elif self._goal(run).finishes:
            self._finish(run)
        else:
            self._hit_limit(run)
        return job

    def _finish(self, run: Run) -> None:
        world, life = self.world, self.world.lives[run.job]
        life.phase, life.kept = Phase.FINISHED, world.oracle.durations[run.job]
        world.history.append(Past(run.job, life.kept, True, world.now))
        self._clear(run)
        self.tell(events.Finished(world.now, world.asks[run.job].job, run.number))

    def _hit_limit(self, run: Run) -> None:
        """Nothing is rolled back, so nothing counts as lost: the job is over, as not finished."""
        world, life = self.world, self.world.lives[run.job]
        life.phase = Phase.LIMIT
        life.kept += run.progress.done(world.now)
        world.history.append(Past(run.job, life.kept, False, world.now))
        self._clear(run)
        ask = world.asks[run.job]
        self.tell(events.Stopped(world.now, ask.job, run.number, "limit", "", acked=False, lost_gpu_s=0.0))

    def _stop(self, run: Run, why: str, *, sake: str = "", acked: bool) -> None:
        """What was not saved is lost: with an acknowledgement nothing, else all since the last checkpoint."""
        world, progress = self.world, run.progress
        ask, done = world.asks[run.job], progress.done(world.now)
        kept = done if acked else progress.saved(world.now)
        world.lives[run.job].kept += kept
        world.lives[run.job].ran_until = world.now
        self._clear(run)
        lost = (done - kept) * ask.gpus
        self.tell(events.Stopped(world.now, ask.job, run.number, why, sake, acked, lost))

    def _give_way(self, run: Run, asked: Request) -> None:
        """Remember who was stopped for whom, and what that freed."""
        world, ask = self.world, self.world.asks[run.job]
        world.lives[run.job].stops.append(world.now)
        world.user_stops[ask.team, ask.user].append(world.now)
        if asked.sake in world.line:
            world.freed_for.setdefault(asked.sake, []).extend(run.seats)

    def _line_up(self, job: int) -> None:
        self.world.lives[job].phase = Phase.WAITING
        self.world.line.join(job, self.world.asks[job].pool)

    def _clear(self, run: Run) -> None:
        world = self.world
        del world.running[run.job]
        self._newest.pop(run.job, None)
        world.floor.leave(run.seats, run.cells, world.asks[run.job])
        self._count(run, -len(run.cells))

    def _count(self, run: Run, gpus: int) -> None:
        ask = self.world.asks[run.job]
        self.world.held[ask.team, run.gpu_type] += gpus
        self.world.usage.change((ask.team, ask.user), gpus, self.world.now)

    def _goal(self, run: Run) -> work.Goal:
        world = self.world
        left = world.oracle.durations[run.job] - world.lives[run.job].kept
        return work.goal(run.progress, left, run.limit_s)

    def _foresee(self, run: Run) -> None:
        """Note when the run will end, and for thinkers when its limit will end it at the latest."""
        at = run.asked.gone_at if run.asked else run.progress.when(self._goal(run).work)
        self._foreseen += 1
        self._newest[run.job] = self._foreseen
        heappush(self._ends, (max(at, self.world.now), self._foreseen, run.job))
        self.world.floor.plan(run.cells, run.ends_by)
