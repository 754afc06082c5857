"""The policy `easy`: first come, first served, with backfill that by the limits does not delay the head."""

from math import inf

from scheduler.sim.decisions import Decisions, Start
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.thinkers.outlook import Outlook, planned_end
from scheduler.sim.thinkers.plain import Plain, Shape
from scheduler.sim.thinkers.queues import Round, serve
from scheduler.sim.world import World


class Easy(Fifo):
    """Each queue keeps one reservation, for its head: a time without a place."""

    def think(self, world: World) -> Decisions:
        """Serve the queues; behind a head that is stuck, start what does not delay it."""
        plain = self.plain(world)
        this = serve(world, plain)
        behind = {pool: world.line.by_pool[pool][place:] for pool, place in this.stuck.items()}
        if any(len(queue) > 1 for queue in behind.values()):
            outlook = Outlook(world, this.starts)
            for queue in behind.values():
                _backfill(world, plain, this, outlook=outlook, queue=queue)
        return self.decided(world, this)


def _backfill(world: World, plain: Plain, this: Round, *, outlook: Outlook, queue: list[int]) -> None:
    """Behind the head of a queue, in order: start what ends by the shadow or leaves the head a place there."""
    head = plain.shape(world.asks[queue[0]])
    shadow = outlook.earliest(lambda scratch: plain.fits(head, scratch))
    then = outlook.at(shadow)
    no_place: set[Shape] = set()
    in_the_way: set[Shape] = set()  # forgotten with each start, which may move what comes after it elsewhere
    for job in queue[1:]:
        shape = plain.shape(world.asks[job])
        end = planned_end(world, job)
        gone = end <= shadow and end < inf  # a blank limit never ends, not even by a shadow that never comes
        if shape in no_place or (shape in in_the_way and not gone):
            continue
        seats = plain.seats(shape, this.scratch)
        if seats is None:
            no_place.add(shape)
            continue
        if not gone:
            left = then.copy()
            left.take(seats, shape.ask)
            if not plain.fits(head, left):
                in_the_way.add(shape)
                continue
            then = left
        this.scratch.take(seats, shape.ask)
        this.starts.append(Start(job, seats))
        outlook.add(this.starts[-1])
        in_the_way.clear()
