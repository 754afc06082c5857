"""Runs one replay with a bar on the terminal, and measures what only a real clock and a real process can."""

from collections.abc import Callable
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage
from time import monotonic, perf_counter
from typing import Any

from portal.replay.progress import Bar
from scheduler.sim import events
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.report import report
from scheduler.sim.score import Score
from scheduler.sim.site import Site
from scheduler.sim.thinker import Thinker
from scheduler.sim.thinkers import THINKERS

KIB_PER_MIB = 1024
Tell = Callable[[events.Event], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a replay."""

    report: dict[str, Any]
    score: Score
    site: Site


def run(case: Case, title: str, *listeners: Tell, thinker: Thinker | None = None) -> Ran:
    """One replay; the listeners hear each event. The policy's name says who thinks, unless somebody is named."""
    score, bar, began = Score.of(case.asks), Bar(title), monotonic()

    def tell(event: events.Event) -> None:
        score.note(event)
        for listener in listeners:
            listener(event)

    thinker = thinker or THINKERS[case.policy.name]()
    try:
        record = replay(case, thinker, Watch(tell, bar.show if bar.shown else None, perf_counter))
    finally:
        bar.clear()
    wall = {"wall_s": monotonic() - began, "peak_rss_mib": getrusage(RUSAGE_SELF).ru_maxrss / KIB_PER_MIB}
    return Ran({"policy": case.policy.name, **report(score, record), **wall}, score, record.world.site)
