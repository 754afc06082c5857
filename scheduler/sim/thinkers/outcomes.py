"""How guessed waits turned out, and by which factors the next guess is to be stretched."""

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

Bucket: TypeAlias = Hashable  # guesses that tend to be wrong in the same way
REMEMBERED = 192  # guesses of one bucket
TEACHES = 8  # fewer than this teach nothing
UNTAUGHT = (1.0, 3.0)
BEYOND = 1.5  # where fewer waits are over than the share that is wanted: the longest wait so far, and more
SLACK_S = 60.0  # added to both sides of a ratio, so that it means something for short waits


@dataclass(frozen=True, slots=True)
class Aim:
    """A share of jobs that should have started by the time they are told, and how it is kept."""

    share: float
    first: float  # the quantile of past waits that is told to begin with
    step: float  # how far one miss moves it; hits move it back, so that in the long run the share is met


# The second aims higher than its nine tenths: jobs that wait at the same time are wrong at the same time.
AIMS = (Aim(0.5, 0.5, 0.03), Aim(0.93, 0.95, 0.02))


@dataclass(slots=True, eq=False)
class Guess:
    """A wait as it was guessed, as it was told, and as it turned out."""

    bucket: Bucket
    at: float  # when the wait began
    guessed_s: float
    told_s: tuple[float, ...] = ()
    waited_s: float | None = None  # None = it goes on

    def ratio(self, now: float) -> tuple[float, bool]:
        """How many times the guess it has waited so far, and whether it goes on."""
        waited = now - self.at if self.waited_s is None else self.waited_s
        return (waited + SLACK_S) / (self.guessed_s + SLACK_S), self.waited_s is None


@dataclass(slots=True)
class _Memory:
    guesses: deque[Guess] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    levels: list[float] = field(default_factory=lambda: [aim.first for aim in AIMS])


class Outcomes:
    """Waits that are over and waits that go on: both say how far off the guesses are."""

    def __init__(self) -> None:
        self._memories: dict[Bucket, _Memory] = {}
        self._open: dict[int, Guess] = {}  # by job
        self._deadlines: list[tuple[float, int, Guess, int]] = []  # when a told time has passed
        self._numbers = count()

    def told(
        self, now: float, buckets: Sequence[Bucket], guessed_s: float, most_s: float
    ) -> tuple[float, ...]:
        """The waits to tell, from the narrowest bucket that teaches; at most this, or the longest of them."""
        levels = self._memory(buckets[0]).levels
        memories = (self._memory(bucket) for bucket in buckets)
        known = next((memory for memory in memories if len(memory.guesses) >= TEACHES), None)
        factors = UNTAUGHT if known is None else quantiles([g.ratio(now) for g in known.guesses], levels)
        if known is not None:
            most_s = max(most_s, *(g.waited_s or 0.0 for g in known.guesses))
        waits = [min(most_s, max(0.0, factor * (guessed_s + SLACK_S) - SLACK_S)) for factor in factors]
        return waits[0], max(waits)

    def remember(self, job: int, buckets: Sequence[Bucket], guess: Guess) -> None:
        """It was told; from now on its wait is watched."""
        self._open[job] = guess
        for bucket in buckets:
            self._memory(bucket).guesses.append(guess)
        for number, wait in enumerate(guess.told_s):
            heappush(self._deadlines, (guess.at + wait, next(self._numbers), guess, number))

    def guess(self, job: int) -> Guess | None:
        """What was guessed of a job that goes on waiting for its first start."""
        return self._open.get(job)

    def started(self, job: int, now: float) -> None:
        """Its first wait is over."""
        guess = self._open.pop(job, None)
        if guess is not None:
            guess.waited_s = now - guess.at
            for number, wait in enumerate(guess.told_s):
                if guess.waited_s <= wait:
                    self._learn(guess.bucket, number, hit=True)

    def pass_time(self, now: float) -> None:
        """Who has not started by the time it was told is a miss at once, not only when it starts."""
        while self._deadlines and self._deadlines[0][0] < now:
            _, _, guess, number = heappop(self._deadlines)
            if guess.waited_s is None or guess.waited_s > guess.told_s[number]:
                self._learn(guess.bucket, number, hit=False)

    def _learn(self, bucket: Bucket, number: int, *, hit: bool) -> None:
        aim, levels = AIMS[number], self._memory(bucket).levels
        levels[number] = min(0.99, max(0.02, levels[number] + aim.step * (aim.share - hit)))

    def _memory(self, bucket: Bucket) -> _Memory:
        return self._memories.setdefault(bucket, _Memory())


def quantiles(ratios: list[tuple[float, bool]], levels: Sequence[float]) -> list[float]:
    """Kaplan and Meier's quantiles: a wait that goes on says that it is longer than this, not how long."""
    ratios.sort()
    left, place, found = 1.0, 0, list[float]()
    for level in sorted(levels):
        while place < len(ratios) and 1.0 - left < level:
            if not ratios[place][1]:
                left *= 1.0 - 1.0 / (len(ratios) - place)
            place += 1
        reached = 1.0 - left >= level
        found.append(ratios[place - 1][0] if reached else ratios[-1][0] * (BEYOND if found else 1.0))
    return found
