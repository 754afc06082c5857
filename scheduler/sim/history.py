"""What ended runs teach about the length of the next ones: lengths in groups, from narrow to broad."""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple, TypeAlias

Key: TypeAlias = tuple[str | int, ...]
EVERYTHING: Key = ()
CLASSES = (8, 32, 128)  # up to so many GPUs; more is a class of its own
# A group is sorted anew when it has grown by one in so many. Until then it answers as before, so that
# thousands of waiting jobs keep their forecasts while one run after the other ends.
GROWS_BY = 16


class Kin(NamedTuple):
    """All that history knows a job by."""

    team: str
    user: str
    gpus: int

    @property
    def path(self) -> tuple[Key, ...]:
        """Its groups, from narrow to broad: the same size of the same user first, everything last."""
        kind = size_class(self.gpus)
        return ("same", *self), ("like", self.team, self.user, kind), ("size", kind), EVERYTHING


def size_class(gpus: int) -> int:
    """Jobs of a class are alike in how long they run and wait."""
    return next((number for number, most in enumerate(CLASSES) if gpus <= most), len(CLASSES))


class Lengths:
    """The lengths of one group, sorted, with the sums of the shortest so many."""

    __slots__ = ("_fresh", "known", "sums")

    def __init__(self) -> None:
        self.known: list[float] = []
        self.sums: list[float] = [0.0]
        self._fresh: list[float] = []

    def add(self, length: float) -> bool:
        """One more; whether the group answers differently from now on."""
        self._fresh.append(length)
        if len(self._fresh) * GROWS_BY < len(self.known):
            return False
        self.known = sorted(self.known + self._fresh)
        self.sums = [0.0, *accumulate(self.known)]
        self._fresh.clear()
        return True


class Tail(NamedTuple):
    """The members of a group that ran longer than a job has been seen to run, and their weight for it."""

    known: list[float]
    sums: list[float]
    first: int
    weight: float

    def share_until(self, length: float) -> float:
        """How many of them, as a share, had ended by this length."""
        return (bisect_right(self.known, length) - self.first) / (len(self.known) - self.first)

    def mean_until(self, length: float) -> float:
        """How long they ran on average, where what ran longer counts as this length."""
        ended = bisect_right(self.known, length)
        ran = self.sums[ended] - self.sums[self.first] + (len(self.known) - ended) * length
        return ran / (len(self.known) - self.first)

    def at(self, share: float) -> float:
        """The length by which this share of them had ended."""
        return self.known[self.first + max(1, int((len(self.known) - self.first) * share)) - 1]


class History:
    """Learns from runs that finished. What a limit or a planner cut short is no length and is not learned."""

    def __init__(self) -> None:
        self._groups: dict[Key, Lengths] = {}

    def learn(self, kin: Kin, length: float) -> list[Key]:
        """A job finished after so much work; returns the groups that answer differently from now on."""
        groups = self._groups
        return [key for key in kin.path if groups.setdefault(key, Lengths()).add(length)]

    def group(self, key: Key) -> Lengths | None:
        """The lengths of a group; None where nobody of it has finished yet."""
        return self._groups.get(key)
