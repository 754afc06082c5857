"""The policy `fifo`: strictly first come, first served, in each queue."""

from scheduler.sim.decisions import Decisions, Start
from scheduler.sim.thinkers import never
from scheduler.sim.thinkers.guess import Guess
from scheduler.sim.thinkers.plain import Plain
from scheduler.sim.thinkers.queues import Round, serve
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.world import World


class Fifo:
    """Ignores teams, tiers, quotas, preemption and elasticity; a run that loses a node starts again."""

    restless = False  # without an event, what did not fit does not fit

    def __init__(self) -> None:
        self._plain: Plain | None = None
        self._guess = Guess()

    def impossible(self, world: World, job: int) -> str:
        """A job that the empty cluster could not hold is told so at once."""
        ask = world.asks[job]
        return "" if self.plain(world).shape(ask).fields else never.sentence(world.site, ask)

    def estimate(self, world: World, job: int) -> tuple[float, float]:
        """Now, if nobody is ahead of it and it has a place; else a guess from the work ahead."""
        ask, plain = world.asks[job], self.plain(world)
        alone = not world.line.by_pool.get(ask.pool) and not ask.after and ask.not_before_s <= world.now
        if alone and plain.fits(plain.shape(ask), Scratch.of_now(world)):
            return world.now, world.now
        return self._guess.times(world, job)

    def mend(self, world: World) -> Decisions:
        """Replaces nothing: whole jobs start again."""
        return Decisions()

    def think(self, world: World) -> Decisions:
        """Start from the front of each queue, as far as it goes."""
        return self.decided(world, serve(world, self.plain(world)))

    def plain(self, world: World) -> Plain:
        """Shapes and places on this world's site."""
        if self._plain is None or self._plain.site is not world.site:
            self._plain = Plain(world.site)
        return self._plain

    def decided(self, world: World, this: Round) -> Decisions:
        """Remember what starts, to guess better; the oldest job that goes on waiting is the head."""
        starts: list[Start] = this.starts
        for start in starts:
            self._guess.started(world, start.job)
        heads = [world.line.by_pool[pool][place] for pool, place in this.stuck.items()]
        return Decisions(tuple(starts), head=min(heads, default=None))
