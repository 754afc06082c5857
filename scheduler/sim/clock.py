"""The pretend clock: from event to event, and at each of them the planner thinks."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from scheduler.core.policy import Policy
from scheduler.sim import events
from scheduler.sim.arrivals import Arrivals
from scheduler.sim.decisions import Act, AskStop, Decisions, Illegal, Start
from scheduler.sim.fragments import Fragmentation, unusable
from scheduler.sim.gauge import Gauge
from scheduler.sim.overruns import Overruns
from scheduler.sim.runs import Runs
from scheduler.sim.thinker import Thinker
from scheduler.sim.workload import Ask, Cluster, Fault
from scheduler.sim.world import Phase, World

# A thinker that asks, stops and starts the same jobs at one instant for ever must not hang a replay.
ROUNDS_AT_ONE_INSTANT = 10_000
# Nor must a wait of years behind one long run cost a thought for every few minutes of it: where nothing has happened
# for so long that its wish to be woken is less than this share of it, it sleeps longer.
LEAST_SLEEP = 1 / 256


@dataclass(frozen=True, slots=True)
class Case:
    """What is replayed."""

    cluster: Cluster
    asks: tuple[Ask, ...]
    faults: tuple[Fault, ...] = ()
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True, slots=True)
class Record:
    """What the events do not say."""

    world: World  # as it was at the end
    thoughts_s: "array[float]"  # how long each thought took, by the stopwatch
    fragmentation: float
    gauge: Gauge
    overruns: Overruns


@dataclass(frozen=True, slots=True)
class Watch:
    """Who looks on: gets each event, hears how far the replay is, and lends it a stopwatch."""

    tell: Callable[[events.Event], None]
    progress: Callable[[int, int], None] | None = None  # jobs that are over, of how many
    stopwatch: Callable[[], float] = lambda: 0.0


def replay(case: Case, thinker: Thinker, watch: Watch) -> Record:
    """Run the case from its first event until nothing more can happen."""
    clock = Clock(case, thinker, watch)
    while (instant := clock.next_instant()) < inf:
        clock.advance(instant)
        clock.happen()
        clock.think()
    return clock.close()


class Clock:
    """At one instant: faults, then ends, then submissions, then the planner thinks."""

    def __init__(self, case: Case, thinker: Thinker, watch: Watch) -> None:
        self.world = World(case.cluster, case.asks, case.policy)
        self.thinker = thinker
        self.watch = watch
        self.runs = Runs(self.world, watch.tell)
        self.arrivals = Arrivals(self.world, thinker, watch.tell)
        self.faults = sorted(case.faults, key=lambda fault: fault.t_s)  # stable: file order within an instant
        self.fragmentation, self.gauge, self.overruns = Fragmentation(), Gauge(self.world), Overruns()
        self.thoughts_s = array("d")
        self._fallen = 0  # faults that have happened
        self._wake: float | None = None
        self._stirred = 0.0  # when something last happened, or was done
        self._thought_s = 0.0
        self._rounds = 0
        self._over = 0

    def next_instant(self) -> float:
        """The next time at which something happens; infinite when nothing ever will."""
        event = min(self._next_fault(), self.runs.next_end(), self.arrivals.next_time())
        if not self.world.line:
            return event
        # Only what will happen, or a time that the thinker named itself, keeps a replay going.
        pause = self.world.now + self.world.policy.cycle_s if self.thinker.restless and event < inf else inf
        return min(event, pause, inf if self._wake is None else self._wake)

    def advance(self, instant: float) -> None:
        """Let the time go by in which nothing happens."""
        self._rounds = self._rounds + 1 if instant == self.world.now else 0
        if self._rounds > ROUNDS_AT_ONE_INSTANT:
            raise Illegal(f"the thinker does not come to an end at {instant:g} s")
        self.fragmentation.pass_time(instant - self.world.now)
        self.gauge.pass_time(instant)
        self.overruns.pass_time(self.world, instant)
        self.world.now = instant

    def happen(self) -> None:
        """Everything that this instant brings, in the contract's order."""
        now = self.world.now
        if min(self._next_fault(), self.runs.next_end(), self.arrivals.next_time()) <= now:
            self._stirred = now
        while self._fallen < len(self.faults) and self.faults[self._fallen].t_s <= now:
            self._befall(self.faults[self._fallen])
            self._fallen += 1
        while self.runs.next_end() <= now:
            self._end(self.runs.end())
        began = self.watch.stopwatch()
        self.arrivals.admit()  # a thinker may think ahead to estimate: that is part of its thought
        self._thought_s += self.watch.stopwatch() - began

    def think(self) -> None:
        """Ask the thinker, time it, and carry out what it decided."""
        self._wake = self.fragmentation.share = None
        if self.world.broken:
            self._mend()
        if not self.world.line:
            return
        began = self.watch.stopwatch()
        decided = self.thinker.think(self.world)
        self.thoughts_s.append(self._thought_s + self.watch.stopwatch() - began)
        self._thought_s = 0.0
        self._carry_out(decided.acts)
        self.overruns.decided(self.world, decided.planned)
        self._look(decided)

    def close(self) -> Record:
        """What still waits when nothing more can happen ends as unfinished."""
        if self.watch.progress:
            self.watch.progress(len(self.world.asks), len(self.world.asks))
        for job in (*self.world.line, *self.world.blocked):
            self.world.lives[job].phase = Phase.UNFINISHED
        return Record(self.world, self.thoughts_s, self.fragmentation.mean, self.gauge, self.overruns)

    def _next_fault(self) -> float:
        return self.faults[self._fallen].t_s if self._fallen < len(self.faults) else inf

    def _befall(self, fault: Fault) -> None:
        world, row = self.world, self.world.site.row_of[fault.node]
        self.watch.tell(events.NodeChanged(world.now, fault.node, fault.event, fault.gpus))
        if fault.event == "down":
            world.falls[row].append(world.now)
        for job in world.floor.change(row, fault.event, fault.gpus).tolist():
            if world.running[job].asked:  # it was about to go: nobody looks for another place
                self.runs.lose(job)
            else:
                self.runs.hurt(job, row)

    def _mend(self) -> None:
        self._carry_out(self.thinker.mend(self.world).acts)
        for job in sorted(self.world.broken):
            self.runs.lose(job)

    def _end(self, job: int) -> None:
        phase = self.world.lives[job].phase
        if phase is Phase.FINISHED:
            self.arrivals.finished(job)
        elif phase is Phase.LIMIT:
            self.arrivals.failed(job)
        self._over += phase in (Phase.FINISHED, Phase.LIMIT)
        if self.watch.progress and self._over % 16 == 0:
            self.watch.progress(self._over, len(self.world.asks))

    def _carry_out(self, acts: tuple[Act, ...]) -> None:
        for act in acts:
            if isinstance(act, Start):
                self.runs.start(act)
                self.overruns.started(act.job, self.world.now)
            elif isinstance(act, AskStop):
                self.runs.ask(act)
            else:
                self.runs.swap(act)

    def _look(self, decided: Decisions) -> None:
        """Note what holds until the next event: when to wake, and how the free GPUs suit the first in line."""
        world = self.world
        if decided.wake_s is not None and decided.wake_s <= world.now:
            raise Illegal("the thinker wants to be woken in the past")
        if decided.acts:
            self._stirred = world.now
        if decided.wake_s is not None:
            self._wake = max(decided.wake_s, world.now + (world.now - self._stirred) * LEAST_SLEEP)
        if world.line:
            first = decided.head
            head = world.line.jobs[0] if first is None or first not in world.line else first
            self.fragmentation.share = unusable(world, head)
