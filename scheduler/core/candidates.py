"""Runs that may be stopped for a job: each with its cost, and which of them may go together."""

from bisect import insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler.core.cost import lost_work
from scheduler.core.cover import Pot
from scheduler.core.lineage import CLUSTER
from scheduler.core.maystop import MANY, Case, Rules, Spared
from scheduler.core.model import Running
from scheduler.core.verbs import Why

ALTERNATIVES = 5  # on a receipt


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A run that may be stopped by this rule, and the GPU-seconds that are lost with it."""

    run: Running
    cost: float
    why: Why
    gpus: int = 0
    guards: tuple[Pot, ...] = ()  # pots that must stay as full as they are
    pots: tuple[Pot, ...] = ()  # pots that count it, guarding or not


@dataclass(frozen=True, slots=True)
class Passed:
    """A run that was looked at and may not be stopped."""

    run: Running
    cost: float
    spared: Spared


@dataclass(frozen=True, slots=True)
class Found:
    """Those of one GPU type that may be stopped; of those that may not, at least the cheapest for a receipt."""

    candidates: list[Candidate] = field(default_factory=list)
    passed: Iterable[Passed] = ()


def seek(case: Case, running: Iterable[Running], *, passed: bool = True) -> Found:
    """Judge every run of the wanted type, in the order given; `passed`: somebody reads of those it may not stop."""
    spared: list[Passed] = []
    found = Found(passed=spared)
    cover, now = case.rules.cover, case.rules.now
    pots: dict[str, tuple[Pot, ...]] = {}
    for run in running:
        if run.gpu_type != case.kind:
            continue
        judged = case.judge(run)
        if isinstance(judged.answer, Spared):
            if passed:
                spared.append(Passed(run, lost_work(run, now), judged.answer))
            continue
        if run.team not in pots:
            pots[run.team] = cover.guards(run.team, case.kind, CLUSTER)
        cost = lost_work(run, now)
        found.candidates.append(Candidate(run, cost, judged.answer, run.gpus, judged.guards, pots[run.team]))
    return found


class Chosen:
    """A set of stops that may happen together: no pot that guards one of them is emptied by all of them."""

    def __init__(self, rules: Rules | None = None, *, most: int = MANY) -> None:
        self._rules = rules
        self._gone: dict[tuple[Pot, int], list[int]] = {}  # sizes, by pot and tier
        self._users: Counter[str] = Counter()
        self._left = most if rules is None else min(most, rules.stops_left)

    @property
    def left(self) -> int:
        """How many more may go at most."""
        return self._left

    def admits(self, one: Candidate) -> bool:
        """Whether it may go as well."""
        if self._left <= 0:
            return False
        user = one.run.user
        if self._rules and user and self._users[user] >= self._rules.user_left(user):
            return False
        tier = one.run.tier
        for pot in one.guards:
            gone = self._gone.get((pot, tier), [])
            if not pot.spares(tier, tuple(sorted((*gone, one.gpus)))):
                return False
        return True

    def add(self, one: Candidate) -> None:
        """It goes."""
        self._left -= 1
        self._users[one.run.user] += 1
        for pot in one.pots:
            insort(self._gone.setdefault((pot, one.run.tier), []), one.gpus)

    def drop(self, one: Candidate) -> None:
        """It stays after all."""
        self._left += 1
        self._users[one.run.user] -= 1
        for pot in one.pots:
            self._gone[pot, one.run.tier].remove(one.gpus)

    def admit_all(self, many: Iterable[Candidate]) -> bool:
        """Add them one after the other; all of them, or none."""
        done: list[Candidate] = []
        for one in many:
            if not self.admits(one):
                for other in reversed(done):
                    self.drop(other)
                return False
            self.add(one)
            done.append(one)
        return True

    def copy(self) -> "Chosen":
        """The same set, to try something out."""
        twin = Chosen(self._rules)
        twin._gone = {key: sizes.copy() for key, sizes in self._gone.items()}
        twin._users, twin._left = self._users.copy(), self._left
        return twin
