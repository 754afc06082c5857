"""How long a job should run, by the lengths of its kin: the few figures that a planner works with."""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from scheduler.sim.history import History, Key, Kin, Tail

ENOUGH = 8  # members with which a group weighs as much as all broader ones together
REST = 0.05  # weight that is not worth a look into one more group
QUANTA = (0.25, 0.5, 0.75, 0.9)  # and its end
HALVINGS = 16  # cuts of an interval that holds a quantile
# Where nothing is known: what has run so long will run as long again (Lindy), starting from this.
UNKNOWN_S = 600.0
ODDS = (1 / 7, 1 / 3, 3 / 5, 1.0, 5 / 3, 3.0, 7.0, 19.0)  # of having ended by then, at eighths and at 95 %
LEAST_S = 1.0


class Forecast(NamedTuple):
    """Seconds of work that are left of a job."""

    index_s: float  # running time that one such end costs: the lower, the more ends in the same time
    p50_s: float
    p90_s: float

    def within(self, limit_s: float | None) -> "Forecast":
        """The same for a job that its limit would stop."""
        return self if limit_s is None else Forecast(*(min(figure, limit_s) for figure in self))


class Kinsfolk(NamedTuple):
    """Who speaks for a job, each with its weight, and whose growth could change what they say."""

    tails: list[Tail]
    heard: tuple[Key, ...]


def foresee(tails: list[Tail], *, done: float = 0.0, saves: bool = False) -> Forecast:
    """What is left of a job that the tails speak for; `done` of its work is saved, and maybe more when asked."""
    index = _index(tails, done, QUANTA if saves else ())
    if len(tails) == 1:
        return Forecast(index, tails[0].at(0.5) - done, tails[0].at(0.9) - done)
    return Forecast(index, _quantile(tails, 0.5) - done, _quantile(tails, 0.9) - done)


def kinsfolk(history: History, kin: Kin, seen: float = 0.0) -> Kinsfolk:
    """Those who ran longer than `seen`: narrow groups first, broader ones as far as those are small."""
    tails: list[Tail] = []
    path, rest = kin.path, 1.0
    for heard, key in enumerate(path, start=1):
        group = history.group(key)
        first = bisect_right(group.known, seen) if group else 0
        if group is None or first == len(group.known):
            continue
        members = len(group.known) - first
        weight = rest * members / (members + ENOUGH)
        rest -= weight
        if rest < REST:
            return Kinsfolk([*tails, Tail(group.known, group.sums, first, weight + rest)], path[:heard])
        tails.append(Tail(group.known, group.sums, first, weight))
    return Kinsfolk([*tails, _unknown(seen, rest)], path)


def _unknown(seen: float, weight: float) -> Tail:
    known = [seen + (seen + UNKNOWN_S) * odds for odds in ODDS]
    return Tail(known, [0.0, *accumulate(known)], 0, weight)


def _index(tails: list[Tail], done: float, quanta: tuple[float, ...]) -> float:
    """The least running time per end, over the lengths at which one could put the job off without a loss.

    A job that saves nothing can only run to its end, however long that is; on Lingjun this order beats
    giving both kinds the same quanta by 8 % of the mean completion time.
    """
    main = max(tails, key=_weight)
    lengths = [*(main.at(share) for share in quanta), max(tail.known[-1] for tail in tails)]
    best = 0.0
    for length in lengths:
        ends = costs = 0.0
        for tail in tails:
            ends += tail.weight * tail.share_until(length)
            costs += tail.weight * tail.mean_until(length)
        best = max(best, ends / max(LEAST_S, costs - done))
    return 1.0 / best


def _quantile(tails: list[Tail], share: float) -> float:
    """The length by which this share of the mixture had ended: between those of its parts."""
    ends = [tail.at(share) for tail in tails]
    low, high = min(ends), max(ends)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(tail.weight * tail.share_until(middle) for tail in tails) >= share:
            high = middle
        else:
            low = middle
    return high


def _weight(tail: Tail) -> float:
    return tail.weight
