"""Defragmentation on against off: what moves save gangs of waiting, and what they cost."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import fmean

from portal.bench.invented import mixed
from portal.bench.rows import Options, Row
from portal.replay.running import Ran, run
from scheduler.core.policy import Policy
from scheduler.core.verbs import Why
from scheduler.sim import events
from scheduler.sim.workload import Ask

SEEDS, DAYS = 6, 7.0
LARGE = 32  # GPUs; moves are meant for gangs above this
FALL, LOST = 0.9, 0.5  # at most so much of the wait is left, and at most so many percent of the work are lost


def moves(options: Options) -> Iterator[Row]:
    """The same workloads twice."""
    off, on = Policy(moves_per_hour=0), Policy()
    waits: dict[bool, list[float]] = {False: [], True: []}
    made, lost, useful = 0, 0.0, 0.0
    for seed in range(options.seed, options.seed + SEEDS):
        case = mixed(seed, DAYS * options.scale, off)
        waits[False] += large(run(case, f"seed {seed} without moves"))
        toll = Toll(case.asks)
        ran = run(replace(case, policy=on), f"seed {seed} with moves", toll.hear)
        waits[True] += large(ran)
        made, lost = made + ran.report["moves"], lost + toll.paid
        useful += ran.report["useful_gpu_s"]
    before, after = fmean(waits[False]), fmean(waits[True])
    what = f"mixed jobs, mean wait of gangs over {LARGE} GPUs"
    yield Row(f"{what}: without moves", before, note=f"{len(waits[False])} gangs, {SEEDS} seeds")
    yield Row(f"{what}: with moves", after, goal=FALL * before, note=f"{made} moves")
    yield Row("mixed jobs, work lost to moves", 100 * lost / max(useful, 1.0), "%", goal=LOST)


def large(ran: Ran) -> list[float]:
    """How long each large gang waited."""
    return [
        tale.start - tale.ask.submit_s
        for tale in ran.score.tales.values()
        if tale.ask.gpus > LARGE and tale.start is not None
    ]


class Toll:
    """What moves cost, in GPU-seconds: work rolled back, and the time in which the moved stood still."""

    def __init__(self, asks: Iterable[Ask]) -> None:
        self.paid = 0.0
        self._asks = {ask.job: ask for ask in asks}
        self._asked: dict[str, float] = {}  # when it was asked to go

    def hear(self, event: events.Event) -> None:
        """One event of the replay."""
        if isinstance(event, events.Asked):
            self._asked[event.job] = event.t
        elif isinstance(event, events.Stopped) and event.why == Why.MOVED:
            ask = self._asks[event.job]
            stood_s = event.t - self._asked[event.job] + ask.restart_s
            self.paid += event.lost_gpu_s + ask.gpus * stood_s
