"""What a thinker may decide: everything else is refused, so that its mistakes never reach an events file."""

from collections import Counter
from math import floor

import numpy as np

from scheduler.core.model import Seat
from scheduler.sim.decisions import ASKED, AskStop, Illegal, Start, Swap
from scheduler.sim.site import Ints, Site
from scheduler.sim.work import SLACK
from scheduler.sim.workload import Ask
from scheduler.sim.world import World


def may_start(world: World, start: Start, cells: Ints) -> None:
    """The job waits, the gang is whole, every GPU is free and well, and every constraint holds."""
    if start.job not in world.line:
        raise Illegal(f"{_name(world, start.job)} does not wait")
    ask = world.asks[start.job]
    _need(bool(cells.size) and bool(world.floor.free.ravel()[cells].all()), ask, "a GPU is not free")
    _seated(world.site, ask, start.seats, len(cells))
    _supplied(world, ask, start.seats)


def may_ask(world: World, ask: AskStop) -> None:
    """The run is there, may be stopped, was not asked before, and makes room for another job."""
    wanted, run = world.asks[ask.job], world.running.get(ask.job)
    if run is None or run.asked or ask.job in world.broken:
        raise Illegal(f"{wanted.job} has no run that could be asked to stop")
    _need(wanted.preemptible, wanted, "it may not be preempted")
    _need(ask.why in ASKED and ask.sake != ask.job, wanted, f"{ask.why} for {ask.sake} is no reason")


def may_swap(world: World, swap: Swap, cells: Ints) -> None:
    """The seat is lost, the new one is as large, free and well, and the gang still is what was asked for."""
    ask, run = world.asks[swap.job], world.running.get(swap.job)
    if run is None or swap.out not in world.broken.get(swap.job, ()):
        raise Illegal(f"{ask.job} has lost nothing on {world.site.names[swap.out]}")
    lost = next(seat for seat in run.seats if seat.node == swap.out)
    # GPUs of the same node that the run itself gives back with its seat count as free, unless they are down.
    own = np.isin(cells, world.site.cells((lost,))) & ~world.floor.closed.ravel()[cells]
    _need(bool((world.floor.free.ravel()[cells] | own).all()), ask, "a GPU is not free")
    _need(len(swap.into.slots) == len(lost.slots), ask, "a swap keeps the size of the seat")
    _need(world.site.types[swap.into.node] == run.gpu_type, ask, "a run keeps its GPU type")
    seats = tuple(swap.into if seat is lost else seat for seat in run.seats)
    _seated(world.site, ask, seats, len(run.cells))
    _supplied(world, ask, (swap.into,), back=lost)


def _seated(site: Site, ask: Ask, seats: tuple[Seat, ...], gpus: int) -> None:
    rows = [seat.node for seat in seats]
    sizes = {len(seat.slots) for seat in seats}
    _need(len(set(rows)) == len(rows), ask, "two seats on one node")
    _need(all(len(set(seat.slots)) == len(seat.slots) for seat in seats), ask, "one GPU twice")
    _need(ask.min_gpus <= gpus <= ask.gpus and gpus % ask.tp == 0, ask, f"{gpus} GPUs are not its gang")
    _need(ask.gpus_per_node is None or sizes == {ask.gpus_per_node}, ask, "not the shape it asked for")
    _need(bool(site.allowed(ask)[rows].all()), ask, "a node it does not accept")
    _need(len({site.types[row] for row in rows}) == 1, ask, "two GPU types")
    if ask.required and ask.level:
        _need(len(set(site.domains[ask.level][rows].tolist())) == 1, ask, f"not in one {ask.level}")
    if ask.tp > 1:
        _need(all(_whole_groups(site, ask.tp, seat) for seat in seats), ask, "a torn tensor-parallel group")
    if ask.spot_share < 1.0:
        spot = sum(len(seat.slots) for seat in seats if site.spot[seat.node])
        _need(spot <= floor(gpus * ask.spot_share + SLACK), ask, "too many GPUs on spot nodes")


def _whole_groups(site: Site, tp: int, seat: Seat) -> bool:
    count = Counter(site.nvlink[seat.node, list(seat.slots)].tolist())
    return all(gpus % tp == 0 for gpus in count.values())


def _supplied(world: World, ask: Ask, seats: tuple[Seat, ...], back: Seat | None = None) -> None:
    """CPUs and memory suffice, with what a swapped seat gives back on the same node."""
    if not (ask.cpus_per_gpu or ask.memory_gib_per_gpu):
        return
    for seat in seats:
        gpus = len(seat.slots) - (len(back.slots) if back and back.node == seat.node else 0)
        enough = gpus * ask.cpus_per_gpu <= world.floor.cpus[seat.node] + SLACK
        enough &= gpus * ask.memory_gib_per_gpu <= world.floor.memory_gib[seat.node] + SLACK
        _need(bool(enough), ask, f"too few CPUs or too little memory on {world.site.names[seat.node]}")


def _need(holds: bool, ask: Ask, wrong: str) -> None:
    if not holds:
        raise Illegal(f"{ask.job} cannot be placed so: {wrong}")


def _name(world: World, job: int) -> str:
    return world.asks[job].job if 0 <= job < len(world.asks) else f"job {job}"
