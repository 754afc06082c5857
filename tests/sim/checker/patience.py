"""How often a job may be stopped by choice: not before its minimum runtime, not too often a day, not in turns."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator

from tests.sim.checker.case import Case, Run
from tests.sim.checker.life import ends_job
from tests.sim.checker.reading import TIERS
from tests.sim.checker.stops import decision

TOLERANCE = 1e-6
DAY = 86_400.0


def violations(case: Case) -> Iterator[str]:
    stops: dict[str, list[float]] = defaultdict(list)
    arrivals = 0
    beaten: dict[tuple[str, str], int] = {}
    for index, event in enumerate(case.events):
        # A repaired or lost node is news as much as a new job is, and so is a job's end: it frees quota for good.
        arrivals += event["event"] in {"submit", "node"} or ends_job(event)
        run = decision(case, index)
        if run is None:
            continue
        yield from (case.say(index, wrong) for wrong in _too_early(case, index, run))
        insort(stops[event["job"]], event["t"])
        yield from (case.say(index, wrong) for wrong in _too_often(case, index, stops[event["job"]]))
        if beaten.get((event["for"], event["job"])) == arrivals:
            yield case.say(
                index, f"is stopped for {event['for']}, which was stopped for it, and nothing is new since"
            )
        beaten[event["job"], event["for"]] = arrivals


def _too_early(case: Case, index: int, run: Run) -> Iterator[str]:
    """ "never before their minimum runtime" """
    least = case.policy.min_runtime_s[run.job.tier]
    age = case.events[index]["t"] - case.events[run.start]["t"]
    if least is not None and age < least - TOLERANCE:
        yield f"is asked after {age:g} s; the minimum runtime of {TIERS[run.job.tier]} is {least:g} s"


def _too_often(case: Case, index: int, stops: list[float]) -> Iterator[str]:
    """ "at most k times a day per job" """
    most, t = case.policy.stops_per_day, case.events[index]["t"]
    within = len(stops) - bisect_right(stops, t - DAY + TOLERANCE)
    if most is not None and within > most:
        yield f"is stopped by choice for the {within}th time in a day; {most} is the most"
