"""The report of a replay, as JSON values."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from scheduler.sim import eta
from scheduler.sim.clock import Record
from scheduler.sim.figures import spread
from scheduler.sim.score import Score, Tale

CAUSES = ("preempted", "reclaimed", "recalled", "moved", "limit", "node_lost", "swap")


def report(score: Score, record: Record) -> dict[str, Any]:
    """Everything but what only the command can measure: time on the wall, and memory."""
    return {
        **_ends(score),
        **_gpu_time(score, record),
        **_times(score),
        **_stops(score, record),
        **_thinking(record),
    }


def _ends(score: Score) -> dict[str, Any]:
    tales = score.tales.values()
    ended = {
        "finished": sum(tale.finish is not None for tale in tales),
        "impossible": sum(tale.impossible for tale in tales),
        "limit_stops": score.stops["limit"],
    }
    return {"jobs": len(tales), **ended, "unfinished": len(tales) - sum(ended.values())}


def _gpu_time(score: Score, record: Record) -> dict[str, Any]:
    """A GPU is busy while a run holds it, whatever the run does; useful is the work of jobs that finished."""
    tales = score.tales.values()
    finishes = [tale.finish for tale in tales if tale.finish is not None]
    span = max(finishes) - min(tale.ask.submit_s for tale in tales) if finishes else 0.0
    capacity = record.world.site.total * span
    useful = sum(tale.ask.duration_s * tale.ask.gpus for tale in tales if tale.finish is not None)
    return {
        "span_s": span,
        "gpu_seconds_busy": score.busy_gpu_s,
        "utilisation": score.busy_until_last_finish / capacity if capacity else 0.0,
        "useful_gpu_s": useful,
        "useful_share": useful / score.busy_gpu_s if score.busy_gpu_s else None,
        "fragmentation": record.fragmentation,
        **record.gauge.plain(),
    }


def _times(score: Score) -> dict[str, Any]:
    """A wait is the time from submission to the first start, a JCT that from submission to the finish."""
    tales = score.tales.values()
    jct = [tale.finish - tale.ask.submit_s for tale in tales if tale.finish is not None]
    told = [
        eta.Told(tale.p50 - tale.ask.submit_s, tale.p90 - tale.ask.submit_s, tale.start - tale.ask.submit_s)
        for tale in tales
        if tale.start is not None
    ]
    by_tier, by_team = defaultdict[str, list[Tale]](list), defaultdict[str, list[Tale]](list)
    for tale in tales:
        by_tier[tale.ask.tier.word].append(tale)
        by_team[tale.ask.team].append(tale)
    return {
        "wait_s": {
            **_waits(tales),
            "by_tier": {tier: _waits(some) for tier, some in sorted(by_tier.items())},
            "by_team": {team: _waits(some) for team, some in sorted(by_team.items())},
        },
        "jct_s": spread(jct, "mean", "p50", "p99"),
        "eta": eta.score(told),
    }


def _waits(tales: Iterable[Tale]) -> dict[str, float | None]:
    waits = [tale.start - tale.ask.submit_s for tale in tales if tale.start is not None]
    return spread(waits, "mean", "p50", "p90", "p99", "max")


def _stops(score: Score, record: Record) -> dict[str, Any]:
    return {
        "preemptions": score.stops["preempted"],
        "reclaims": score.stops["reclaimed"],
        "recalls": score.stops["recalled"],
        "moves": score.stops["moved"],
        "node_losses": score.stops["node_lost"],
        "swaps": score.swaps,
        "lost_gpu_s": {cause: score.lost_gpu_s[cause] for cause in CAUSES},
        "overruns": record.overruns.plain(),
    }


def _thinking(record: Record) -> dict[str, Any]:
    thoughts_ms = [seconds * 1000.0 for seconds in record.thoughts_s]
    return {"cycles": len(thoughts_ms), "cycle_ms": spread(thoughts_ms, "p50", "p95", "max")}
