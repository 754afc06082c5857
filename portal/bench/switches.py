"""Gangs of Lingjun on its real switches: how many cross more of them than they need, against first fit."""

from collections import Counter
from collections.abc import Iterator, Sequence

from portal.bench import recorded
from portal.bench.rows import Options, Row
from portal.replay.running import run
from scheduler.sim import events
from scheduler.sim.clock import Case
from scheduler.sim.traces import Options as Choices
from scheduler.sim.traces import convert
from scheduler.sim.workload import Cluster, Machine

HOSTS = 144
Held = dict[str, int]  # GPUs, by machine


class Floor:
    """Who sits where, and how many gangs crossed more switches than needed."""

    def __init__(self, cluster: Cluster) -> None:
        self.free: Held = {machine.name: machine.gpus for machine in cluster.machines}
        self._rack = {machine.name: machine.rack for machine in cluster.machines}
        self._held: dict[str, Held] = {}  # by job
        self._empty = self._rooms()
        self._node = max(self.free.values())
        self.gangs = 0
        self.switches = 0  # crossed by all gangs together
        self.wide = 0  # gangs across more than the empty cluster would have made them cross
        self.careless = 0  # gangs across more than the GPUs free at that moment would have

    def sit(self, job: str, seats: Held) -> None:
        """A start; what needs more than one node is a gang."""
        gpus = sum(seats.values())
        if gpus > self._node:
            crossed = len({self._rack[name] for name in seats})
            self.gangs += 1
            self.switches += crossed
            self.wide += crossed > fewest(self._empty, gpus)
            self.careless += crossed > fewest(self._rooms(), gpus)
        for name, count in seats.items():
            self.free[name] -= count
        self._held[job] = seats

    def rise(self, job: str) -> None:
        """It ended."""
        for name, count in self._held.pop(job).items():
            self.free[name] += count

    def _rooms(self) -> list[int]:
        """Free GPUs below each switch, the most first."""
        free: Counter[str] = Counter()
        for name, count in self.free.items():
            free[self._rack[name]] += count
        return sorted(free.values(), reverse=True)


def fewest(rooms: Sequence[int], gpus: int) -> int:
    """How many switches so many GPUs need at least, with so much room below each, the largest first."""
    for count, room in enumerate(rooms, 1):
        gpus -= room
        if gpus <= 0:
            return count
    return len(rooms)


def first_fit(floor: Floor, order: Sequence[Machine], gpus: int) -> Held:
    """The first node with room; for a gang the first whole nodes, and where those run out the first free GPUs."""
    room = floor.free
    if gpus <= max(machine.gpus for machine in order):
        for machine in order:
            if room[machine.name] >= gpus:
                return {machine.name: gpus}
    seats: Held = {}
    for machine in order:
        if gpus >= machine.gpus == room[machine.name]:
            seats[machine.name] = machine.gpus
            gpus -= machine.gpus
    for machine in order:
        part = 0 if machine.name in seats else min(gpus, room[machine.name])
        if part:
            seats[machine.name] = part
            gpus -= part
    return seats


class Twins:
    """The planner's places, and beside them first fit at the very same instants."""

    def __init__(self, cluster: Cluster) -> None:
        self.ours, self.theirs = Floor(cluster), Floor(cluster)
        # Along the switches: kinder to first fit than names, which leave a switch and come back to it.
        self._order = sorted(
            cluster.machines, key=lambda machine: (machine.block, machine.rack, machine.name)
        )

    def hear(self, event: events.Event) -> None:
        """Follow one event of the replay."""
        if isinstance(event, events.Started):
            seats = {place.node: len(place.gpus) for place in event.seats}
            self.ours.sit(event.job, seats)
            self.theirs.sit(event.job, first_fit(self.theirs, self._order, sum(seats.values())))
        elif isinstance(event, events.Stopped | events.Finished):
            self.ours.rise(event.job)
            self.theirs.rise(event.job)


def switches(options: Options) -> Iterator[Row]:
    """The share of gangs that cross more switches than needed."""
    texts = recorded.texts(options.traces, jobs=recorded.LINGJUN_JOBS, topo=recorded.LINGJUN_TOPO)
    if texts is None:
        return
    made = convert("lingjun", texts, Choices(hosts=HOSTS))
    asks = made.asks[: round(len(made.asks) * options.scale)]
    twins = Twins(made.cluster)
    run(Case(made.cluster, asks), "on switches", twins.hear)
    ours, theirs = twins.ours, twins.theirs
    note = f"{ours.gangs:,} starts of gangs on {len(made.cluster.machines)} hosts, first fit at the same instants"
    for what, mine, plain in (
        ("in an empty cluster", ours.wide, theirs.wide),
        ("in what was free", ours.careless, theirs.careless),
    ):
        share, against = 100 * mine / max(ours.gangs, 1), 100 * plain / max(theirs.gangs, 1)
        yield Row(f"Lingjun, gangs on needless switches {what}: first fit", against, "%", note=note)
        yield Row(f"Lingjun, gangs on needless switches {what}: ours", share, "%", goal=against)
    mean, plain_mean = (floor.switches / max(floor.gangs, 1) for floor in (ours, theirs))
    yield Row(
        "Lingjun, switches of a gang on average: ours", mean, "", goal=plain_mean, note="goal: first fit"
    )
