"""Keeps the score of a replay while its events go by."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler.sim import events
from scheduler.sim.workload import Ask


@dataclass(slots=True)
class Tale:
    """One job as its events told it."""

    ask: Ask
    p50: float = 0.0
    p90: float = 0.0
    start: float | None = None  # its first
    finish: float | None = None
    impossible: bool = False


@dataclass(slots=True)
class Score:
    """Everything of the report that can be read off the events alone."""

    tales: dict[str, Tale]
    stops: Counter[str] = field(default_factory=Counter)  # by why
    swaps: int = 0
    lost_gpu_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # by cause
    busy_gpu_s: float = 0.0
    busy_until_last_finish: float = 0.0
    _held: dict[str, int] = field(default_factory=dict)  # by job that runs
    _holding: int = 0
    _now: float = 0.0

    @classmethod
    def of(cls, asks: Iterable[Ask]) -> "Score":
        """Nothing has happened yet."""
        return cls({ask.job: Tale(ask) for ask in asks})

    def note(self, event: events.Event) -> None:
        """One more event."""
        self.busy_gpu_s += self._holding * (event.t - self._now)
        self._now = event.t
        match event:
            case events.Estimated():
                tale = self.tales[event.job]
                tale.p50, tale.p90 = event.p50_s, event.p90_s
            case events.Started():
                self._start(event)
            case events.Stopped():
                self._release(event.job)
                self.stops[event.why] += 1
                self.lost_gpu_s[event.why] += event.lost_gpu_s
            case events.Swapped():
                self.swaps += 1
                self.lost_gpu_s["swap"] += event.lost_gpu_s
            case events.Finished():
                self._release(event.job)
                self.tales[event.job].finish = event.t
                self.busy_until_last_finish = self.busy_gpu_s
            case events.Impossible():
                self.tales[event.job].impossible = True
            case events.Submitted() | events.Asked() | events.NodeChanged():
                pass

    def _start(self, event: events.Started) -> None:
        gpus = sum(len(place.gpus) for place in event.seats)
        self._held[event.job] = gpus
        self._holding += gpus
        tale = self.tales[event.job]
        tale.start = event.t if tale.start is None else tale.start

    def _release(self, job: str) -> None:
        self._holding -= self._held.pop(job)
