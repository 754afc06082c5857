"""The figures of a replay as a person reads them: what each is called, how it is written, which of several is better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal import words

Report = Mapping[str, Any]
Value = Callable[[Report], float | None]
ENDS = {
    "finished": "finished",
    "limit_stops": "at their limit",
    "impossible": "impossible",
    "unfinished": "unfinished",
}
AS_MANY = 0.99  # of the jobs that finish with another policy: with fewer, its figures are about other jobs
STOPS = ("preemptions", "reclaims", "recalls", "moves")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of every replay."""

    title: str
    cell: Callable[[Report], str]
    compared: Value | None = None  # None = neither more nor less of it is better by itself
    more: bool = False  # more is better; else less is

    def best(self, reports: Mapping[str, Report]) -> frozenset[str]:
        """Those that do better than others; nobody where all read the same, and nobody who leaves jobs behind."""
        if self.compared is None or len(reports) < 2:
            return frozenset()
        most = max(report["finished"] for report in reports.values())
        found = {
            name: value
            for name, report in reports.items()
            if report["finished"] >= most * AS_MANY and (value := self.compared(report)) is not None
        }
        if not found:
            return frozenset()
        first = (max if self.more else min)(found, key=lambda name: found[name])
        said = self.cell(reports[first])
        alike = frozenset(name for name in found if self.cell(reports[name]) == said)
        return frozenset() if len(alike) == len(reports) else alike


def lasting(seconds: float | None) -> str:
    """A duration, or none."""
    return "none" if seconds is None else words.duration(seconds)


def share(value: float | None) -> str:
    """A share to a tenth of a percent, or none."""
    return "none" if value is None else f"{words.decimal(value * 100, 1)}{words.NBSP}%"


def ended(report: Report) -> str:
    """How the jobs ended, without what there was none of."""
    return ", ".join(
        f"{words.count(report[key])} {word}" for key, word in ENDS.items() if report[key] or key == "finished"
    )


def _of(*keys: str) -> Value:
    def value(report: Report) -> float | None:
        found: Any = report
        for key in keys:
            found = found[key]
        return None if found is None else float(found)

    return value


def _lost(report: Report) -> float:
    return float(sum(report["lost_gpu_s"].values()))


def _gpu_h(seconds: float) -> str:
    return f"{words.decimal(seconds / 3600, 1)}{words.NBSP}GPU-h"


def _gang(report: Report) -> str:
    gpus = report["largest_gang_gpus"]["cluster"]
    return "none" if gpus is None else words.unit(gpus, "GPUs")


def _late(report: Report) -> str:
    late = report["overruns"]
    if not late["delayed_jobs"]:
        return "none"
    return (
        f"{words.count(late['delayed_jobs'])}, by {words.duration(late['delayed_s'] / late['delayed_jobs'])}"
    )


def _ms(value: float | None) -> str:
    return "none" if value is None else f"{words.decimal(value, 2)}{words.NBSP}ms"


def _timed(title: str, *keys: str) -> Row:
    value = _of(*keys)
    return Row(title, lambda report: lasting(value(report)), value)


def _shared(title: str, key: str, *, more: bool = False) -> Row:
    value = _of(key)
    return Row(title, lambda report: share(value(report)), value, more)


ROWS: Sequence[Row] = (
    Row("jobs", lambda report: words.count(report["jobs"])),
    Row("ended", ended),
    _timed("mean wait", "wait_s", "mean"),
    _timed("median wait", "wait_s", "p50"),
    _timed("wait, 9 of 10", "wait_s", "p90"),
    _timed("wait, 99 of 100", "wait_s", "p99"),
    _timed("longest wait", "wait_s", "max"),
    _timed("mean submit to finish", "jct_s", "mean"),
    Row("GPUs held", lambda report: share(report["utilisation"])),
    _shared("useful of that", "useful_share", more=True),
    _shared("free but of no use to the first in line", "fragmentation"),
    _shared("free but of no use to the usual jobs", "mix_fragmentation"),
    Row("largest gang that could start, on average", _gang),
    Row("stops", lambda report: words.count(sum(report[key] for key in STOPS))),
    Row(
        "lost nodes: swapped, restarted",
        lambda report: f"{words.count(report['swaps'])}, {words.count(report['node_losses'])}",
    ),
    Row("work lost", lambda report: _gpu_h(_lost(report)), _lost),
    Row("planned starts that overruns delayed", _late),
    Row("started by the 90 % estimate", lambda report: share(report["eta"]["by_p90"])),
    Row("thoughts", lambda report: words.count(report["cycles"])),
    Row("a thought, 95 of 100", lambda report: _ms(report["cycle_ms"]["p95"])),
    Row("took", lambda report: words.duration(report["wall_s"])),
)
