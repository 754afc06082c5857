"""First come, first served: one queue for each pool that jobs name, and one for the jobs that name none."""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from scheduler.sim.decisions import Start
from scheduler.sim.thinkers.plain import Plain
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.world import World


@dataclass(slots=True)
class Round:
    """One thought in the making."""

    scratch: Scratch
    starts: list[Start] = field(default_factory=list)
    stuck: dict[str, int] = field(default_factory=dict)  # pool: place of the head in its queue


def serve(world: World, plain: Plain) -> Round:
    """Start from the front of each queue until its head has no place.

    Queues share nodes only where jobs name no pool: those may sit in any. Then the older head goes first, and
    a head that is stuck holds back nobody but its own queue.
    """
    queues = world.line.by_pool
    this = Round(Scratch.of_now(world))
    heads = [(queue[0], pool, 0) for pool, queue in queues.items() if queue]
    heapify(heads)
    while heads:
        job, pool, place = heappop(heads)
        shape = plain.shape(world.asks[job])
        seats = plain.seats(shape, this.scratch)
        if seats is None:
            this.stuck[pool] = place
            continue
        this.scratch.take(seats, shape.ask)
        this.starts.append(Start(job, seats))
        if place + 1 < len(queues[pool]):
            heappush(heads, (queues[pool][place + 1], pool, place + 1))
    return this
