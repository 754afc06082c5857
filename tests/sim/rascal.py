"""A thinker that does everything a thinker may do, for no reason: it starts, stops, swaps and shrinks at random."""

from random import Random

from scheduler.core.model import Seat
from scheduler.sim.decisions import ASKED, Act, AskStop, Decisions, Illegal, Start, Swap
from scheduler.sim.legal import may_swap
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.world import World


class Rascal(Fifo):
    """Obeys the engine's law and no policy. The same seed does the same mischief."""

    restless = True

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = Random(seed)

    def mend(self, world: World) -> Decisions:
        """Swaps what it can find a seat for, and leaves some runs to be stopped."""
        acts: list[Act] = []
        taken: set[int] = set()
        for job, rows in world.broken.items():
            seats = [self._replacement(world, job, row, taken) for row in rows]
            if all(seats) and self._dice.random() < 0.8:
                taken |= {seat.node for seat in seats if seat}
                acts += [Swap(job, row, seat) for row, seat in zip(rows, seats, strict=True) if seat]
        return Decisions(tuple(acts))

    def think(self, world: World) -> Decisions:
        """Starts some of what fits, in any order; now and then somebody must go for a job that waits."""
        starts = self._starts(world)
        wake = (
            world.now + 1 + 50 * self._dice.random() if self._dice.random() < 0.2 and world.running else None
        )
        left = [job for job in world.line if job not in {start.job for start in starts}]
        return Decisions((*starts, *self._asks(world, left)), wake_s=wake)

    def _starts(self, world: World) -> list[Start]:
        scratch, starts = Scratch.of_now(world), list[Start]()
        plain = self.plain(world)
        jobs = list(world.line)
        self._dice.shuffle(jobs)
        for job in jobs:
            shape = plain.shape(world.asks[job])
            seats = plain.seats(shape, scratch)
            if seats and (self._dice.random() < 0.7 or not world.running):
                scratch.take(seats, shape.ask)
                starts.append(Start(job, self._shrunk(world, job, seats)))
        return starts

    def _shrunk(self, world: World, job: int, seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        """An elastic job sometimes gets only some of its nodes."""
        ask = world.asks[job]
        for kept in range(1, len(seats)):
            some = seats[:kept]
            gpus = sum(len(seat.slots) for seat in some)
            spot = any(world.site.spot[seat.node] for seat in some)
            if gpus >= ask.min_gpus and not (spot and ask.spot_share < 1) and self._dice.random() < 0.5:
                return some
        return seats

    def _asks(self, world: World, waiting: list[int]) -> list[AskStop]:
        may_go = [job for job, run in world.running.items() if world.asks[job].preemptible and not run.asked]
        if not waiting or not may_go or self._dice.random() < 0.6:
            return []
        sake = self._dice.choice(waiting)
        victims = self._dice.sample(may_go, self._dice.randint(1, min(2, len(may_go))))
        return [
            AskStop(job, self._dice.choice(ASKED), sake) for job in victims if len(world.lives[job].stops) < 4
        ]

    def _replacement(self, world: World, job: int, row: int, taken: set[int]) -> Seat | None:
        """Any seat of the same size that the engine would accept."""
        ask, run = world.asks[job], world.running[job]
        size = next(len(seat.slots) for seat in run.seats if seat.node == row)
        scratch = Scratch.of_now(world)
        for other in self._dice.sample(range(len(world.site.names)), len(world.site.names)):
            if other in taken or int(scratch.room(ask)[other]) < size:
                continue
            seat = scratch.seat(other, size, ask.tp)
            try:
                may_swap(world, Swap(job, row, seat), world.site.cells((seat,)))
            except Illegal:
                continue
            return seat
        return None
