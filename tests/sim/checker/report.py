"""Whether REPORT.json says what the events say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.sim.checker.case import Case
from tests.sim.checker.figures import Tally, band, by_group, foretold, pinball, tally

WANTED = (
    *("jobs", "finished", "impossible", "span_s", "gpu_seconds_busy", "utilisation", "wait_s", "jct_s"),
    *("preemptions", "reclaims", "moves", "swaps", "lost_gpu_s", "fragmentation", "eta"),
    *("cycles", "cycle_ms", "wall_s", "peak_rss_mib"),
)
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def violations(case: Case) -> Iterator[str]:
    if case.report is None:
        return
    missing = [key for key in WANTED if key not in case.report]
    if missing:
        yield f"the report has no {', '.join(missing)}"
        return
    found = tally(case)
    yield from _counts(case, case.report, found)
    yield from _waits(case, case.report["wait_s"], found)
    yield from _spread("jct_s", case.report["jct_s"], found.jcts, ("mean", "p50", "p99"))
    yield from _lost(case.report["lost_gpu_s"], found)
    yield from _eta(case, case.report["eta"])
    if not -1e-9 <= case.report["fragmentation"] <= 1 + 1e-9:
        yield f"the report's fragmentation {case.report['fragmentation']} is no share"


def _counts(case: Case, report: Mapping[str, Any], found: Tally) -> Iterator[str]:
    stops = found.stops
    # Without a count of its own a recall may be told as a preemption.
    preemptions = {stops["preempted"]} | (
        {stops["preempted"] + stops["recalled"]} if "recalls" not in report else set()
    )
    room = found.capacity * found.span
    answers: dict[str, set[float]] = {
        "jobs": {len(case.jobs)},
        "finished": {len(found.jcts)},
        "impossible": {found.impossible},
        "span_s": {found.span},
        "gpu_seconds_busy": {found.busy, found.busy_in_span},
        "utilisation": {found.busy / room, found.busy_in_span / room} if room > 0 else {0.0},
        "preemptions": set(preemptions),
        "reclaims": {stops["reclaimed"]},
        "moves": {stops["moved"]},
        "swaps": {found.swaps},
    }
    ended = len(found.jcts) + found.impossible + stops["limit"]
    more = {
        "recalls": {stops["recalled"]},
        "limit_stops": {stops["limit"]},
        "unfinished": {len(case.jobs) - ended},
    }
    answers |= {key: set(right) for key, right in more.items() if key in report}
    for key, right in answers.items():
        slack = 1e-4 if key == "utilisation" else 1e-2
        yield from _differs(key, report[key], right, slack)


def _differs(what: str, said: Any, right: set[float], slack: float = 1e-2) -> Iterator[str]:
    if not isinstance(said, int | float) or not any(
        abs(said - value) <= slack + 1e-7 * abs(value) for value in right
    ):
        yield f"the report's {what} is {said}; by the events it is {' or '.join(map(str, sorted(right)))}"


def _waits(case: Case, said: Mapping[str, Any], found: Tally) -> Iterator[str]:
    """ "wait_s {mean,p50,p90,p99,max} over all and by tier and by team" """
    fields = ("mean", "p50", "p90", "p99", "max")
    yield from _spread("wait_s", said.get("all", said), list(found.waits.values()), fields)
    for key in ("tier", "team"):
        groups = said.get(f"by_{key}", said.get(key, (case.report or {}).get(f"wait_s_by_{key}")))
        if not isinstance(groups, Mapping):
            yield f"the report has no wait_s by {key}"
            continue
        for name, waits in by_group(case, found, key).items():
            yield from _spread(f"wait_s by {key} {name}", groups.get(name) or {}, waits, fields)


def _spread(
    what: str, said: Mapping[str, Any], values: Sequence[float], fields: Sequence[str]
) -> Iterator[str]:
    for field in fields if values else ():
        told = said.get(field)
        if field in SHARES:
            low, high = band(values, SHARES[field])
            slack = 1e-2 + 1e-7 * abs(high)
            if not isinstance(told, int | float) or not low - slack <= told <= high + slack:
                yield f"the report's {what} {field} is {told}; by the events it is {low} to {high}"
        else:
            right = max(values) if field == "max" else sum(values) / len(values)
            yield from _differs(f"{what} {field}", told, {right})


def _lost(said: Mapping[str, Any], found: Tally) -> Iterator[str]:
    """ "lost_gpu_s by cause": a swap's loss may stand under its own name or under node_lost."""
    total = sum(found.lost.values())
    causes = {cause: value for cause, value in said.items() if cause not in {"all", "total"}}
    yield from _differs(
        "lost_gpu_s over all causes", sum(causes.values()), {total}, 1e-2 * max(1, len(causes))
    )
    for cause in ("preempted", "reclaimed", "recalled", "moved"):
        yield from _differs(f"lost_gpu_s of {cause}", said.get(cause, 0.0), {found.lost[cause]})


def _eta(case: Case, said: Mapping[str, Any]) -> Iterator[str]:
    """ "eta {jobs, started_before_p50, by_p50, by_p90, pinball_s, median_abs_error_s}": counts or shares."""
    told = foretold(case)
    yield from _differs("eta jobs", said.get("jobs"), {len(told)})
    if not told:
        return
    counts = {
        "started_before_p50": sum(one.start < one.p50 for one in told),
        "by_p50": sum(one.start <= one.p50 for one in told),
        "by_p90": sum(one.start <= one.p90 for one in told),
    }
    for key, count in counts.items():
        yield from _differs(f"eta {key}", said.get(key), {count, count / len(told)}, 1e-3)
    halves = sum(pinball(one.start, one.p50, 0.5) for one in told) / len(told)
    tenths = sum(pinball(one.start, one.p90, 0.9) for one in told) / len(told)
    losses = said.get("pinball_s")
    if isinstance(losses, Mapping):
        yield from _differs("eta pinball_s p50", losses.get("p50"), {halves})
        yield from _differs("eta pinball_s p90", losses.get("p90"), {tenths})
    else:
        yield from _differs("eta pinball_s", losses, {halves, (halves + tenths) / 2, halves + tenths})
    yield from _spread(
        "eta", {"p50": said.get("median_abs_error_s")}, [abs(one.start - one.p50) for one in told], ["p50"]
    )
