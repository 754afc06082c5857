"""The figures of a replay, recomputed from its events alone."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.sim.checker.case import Case
from tests.sim.checker.reading import TIERS


@dataclass(slots=True)
class Tally:
    """What the report speaks about: one entry for each job, stop or swap."""

    waits: dict[str, float] = field(default_factory=dict)
    jcts: list[float] = field(default_factory=list)
    impossible: int = 0
    stops: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    lost: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    swaps: int = 0
    busy: float = 0.0
    busy_in_span: float = 0.0
    span: float = 0.0
    capacity: int = 0


def tally(case: Case) -> Tally:
    found = Tally(capacity=sum(node.gpus for node in case.nodes.values()))
    for event in case.events:
        match event["event"]:
            case "start":
                # "waits": from the submission to the first start.
                found.waits.setdefault(event["job"], event["t"] - case.jobs[event["job"]].submit_s)
            case "finish":
                found.jcts.append(event["t"] - case.jobs[event["job"]].submit_s)
            case "impossible":
                found.impossible += 1
            case "swap":
                found.swaps += 1
                found.lost["swap"] += event["lost_gpu_s"]
            case "stop":
                found.stops[event["why"]] += 1
                found.lost[event["why"]] += event.get("lost_gpu_s") or 0.0
            case _:
                pass
    _busy(case, found)
    return found


def _busy(case: Case, found: Tally) -> None:
    """ "busy GPU-seconds over capacity from first submit to last finish" """
    first = min((job.submit_s for job in case.jobs.values()), default=0.0)
    last = max((event["t"] for event in case.events if event["event"] == "finish"), default=first)
    found.span = last - first
    end = case.events[-1]["t"] if case.events else 0.0
    for run in case.runs:
        begin = case.events[run.start]["t"]
        until = case.events[run.end]["t"] if run.end is not None else end
        found.busy += run.gpus * (until - begin)
        found.busy_in_span += run.gpus * max(0.0, min(until, last) - begin)


def by_group(case: Case, found: Tally, key: str) -> dict[str, list[float]]:
    """Waits by tier or by team."""
    groups: dict[str, list[float]] = defaultdict(list)
    for job, wait in found.waits.items():
        asked = case.jobs[job]
        groups[TIERS[asked.tier] if key == "tier" else asked.team].append(wait)
    return groups


def band(values: Sequence[float], share: float) -> tuple[float, float]:
    """What a percentile may be, whichever way it is taken between its neighbours."""
    ordered = sorted(values)
    top = len(ordered) - 1
    at = share * top
    ranks = [int(at), min(top, int(at) + 1), max(0, -int(-share * len(ordered) // 1) - 1)]
    return ordered[min(ranks)], ordered[max(ranks)]


@dataclass(slots=True)
class Foretold:
    """One job's start against what it was told."""

    start: float
    p50: float
    p90: float


def foretold(case: Case) -> list[Foretold]:
    """ "eta … over jobs that waited or were told to wait over 60 s" """
    told: list[Foretold] = []
    estimates = {event["job"]: event for event in case.events if event["event"] == "estimate"}
    starts: dict[str, float] = {}
    for event in case.events:
        if event["event"] == "start":
            starts.setdefault(event["job"], event["t"])
    for job, start in starts.items():
        submit, said = case.jobs[job].submit_s, estimates.get(job)
        if said is not None and max(start, said["p50_s"]) - submit > 60:
            told.append(Foretold(start, said["p50_s"], said["p90_s"]))
    return told


def pinball(actual: float, quantile: float, share: float) -> float:
    return max(share * (actual - quantile), (share - 1) * (actual - quantile))
