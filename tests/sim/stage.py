"""A small stage for replays: machines, asks and faults in few words, a thinker that follows a script, and what happened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.core.model import Seat
from scheduler.core.policy import Policy
from scheduler.sim import events
from scheduler.sim.clock import Case, Record, Watch, replay
from scheduler.sim.decisions import Act, Decisions, Start
from scheduler.sim.thinker import Thinker
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.workload import Ask, Cluster, Fault, Machine
from scheduler.sim.world import World


def nodes(count: int, gpus: int = 4, **more: Any) -> tuple[Machine, ...]:
    """n1, n2, … with the same number of GPUs, in one NVLink domain unless told otherwise."""
    rest = {"nvlink_domain": gpus} | more
    return tuple(Machine(f"n{number}", gpus=gpus, **rest) for number in range(1, count + 1))


def ask(job: str, gpus: int = 4, submit: float = 0.0, duration: float = 100.0, **more: Any) -> Ask:
    """Four GPUs for 100 s, from the start."""
    return Ask(job, submit, duration, gpus, **more)


@dataclass
class Played:
    """What a replay told, and how it was at the end."""

    told: list[events.Event]
    record: Record

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """The events of these words, as the file has them; all but submissions and estimates when none is named."""
        plain = [events.plain(event) for event in self.told]
        return [
            e for e in plain if (e["event"] in words if words else e["event"] not in ("submit", "estimate"))
        ]

    def tape(self, *words: str) -> list[str]:
        """The same in short: "100 finish a"."""
        return [f"{e['t']:g} {e['event']} {e.get('job') or e['node']}" for e in self.lines(*words)]

    def starts(self) -> dict[str, float]:
        """When each job started first."""
        first: dict[str, float] = {}
        for event in self.told:
            if isinstance(event, events.Started):
                first.setdefault(event.job, event.t)
        return first


def play(
    asks: Sequence[Ask],
    machines: Sequence[Machine] | None = None,
    faults: Sequence[Fault] = (),
    *,
    thinker: Thinker | None = None,
    policy: Policy | None = None,
) -> Played:
    """Replay it on two nodes of four GPUs, first come first served, unless told otherwise."""
    told: list[events.Event] = []
    cluster = Cluster(tuple(machines if machines is not None else nodes(2)))
    case = Case(cluster, tuple(asks), tuple(faults), policy or Policy())
    return Played(told, replay(case, thinker or Fifo(), Watch(told.append)))


Move = Callable[[World], Sequence[Act]]


@dataclass
class Script(Fifo):
    """First come, first served, except where the script says otherwise; and what it saw of the world."""

    moves: dict[float, Move] = field(default_factory=dict)  # by time: what to do then, once
    mends: Move | None = None
    look: Callable[[World], None] = lambda world: None
    hold: set[str] = field(default_factory=set)  # jobs that only the script starts
    restless: bool = False
    wakes: dict[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Fifo.__init__(self)

    def mend(self, world: World) -> Decisions:
        return Decisions(tuple(self.mends(world))) if self.mends else Decisions()

    def think(self, world: World) -> Decisions:
        self.look(world)
        if world.now in self.moves:
            return Decisions(tuple(self.moves.pop(world.now)(world)))
        starts = super().think(world).acts
        kept = tuple(a for a in starts if isinstance(a, Start) and world.asks[a.job].job not in self.hold)
        return Decisions(kept, wake_s=self.wakes.get(world.now))


def number(world: World, job: str) -> int:
    """The number that the world gives a job."""
    return world.number_of()[job]


def seat(row: int, *slots: int) -> Seat:
    return Seat(row, slots)
