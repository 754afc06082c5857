"""What each team and user has used against its share, as the order of a round sees it.

Usage is counted in whole 1/1024 GPU-seconds: sums are exact in any order, and use that differs only by how
it was rounded counts as the same, so that no machine orders it otherwise than another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import floor, inf

from scheduler.core.lineage import CLUSTER, Lineage
from scheduler.core.model import Moment, Running
from scheduler.core.policy import Policy
from scheduler.core.share import Owner

GRAIN = 1024
# A weight of zero comes after every other: no ratio with a real weight comes near this.
LAST = 2.0**200
Key = tuple[float, ...]  # the smaller, the sooner


def grains(gpu_seconds: float) -> int:
    """The nearest whole number of them."""
    return floor(gpu_seconds * GRAIN + 0.5)


class Level:
    """A team, or the work that a team with teams below it does itself."""

    __slots__ = ("above", "name", "priority", "used", "weight", "weight_below")

    def __init__(self, name: str, above: "Level | None", weight: float = 1.0, priority: int = 0) -> None:
        self.name, self.above = name, above
        self.weight, self.priority = max(0.0, weight), priority
        self.used = 0  # in grains
        self.weight_below = 0.0
        if above is not None:
            above.weight_below += self.weight

    @property
    def ratio(self) -> float:
        """Used against weight; of those with no weight, too, the least used comes first."""
        return self.used / self.weight if self.weight > 0 else (1 + self.used) * LAST


class Scale:
    """Every team's and user's place on it; keys only grow while a round lasts."""

    def __init__(self, lineage: Lineage, usage: Mapping[Owner, float]) -> None:
        self.version = 0  # grows with every change
        self.used: dict[Owner, int] = {}
        self._users: Counter[str] = Counter()  # by team
        self._top = Level("", None)
        self._levels = [self._top]
        self._paths: dict[str, tuple[Level, ...]] = {}  # from the top down to where its users are
        self._build(lineage)
        self.depth = max((len(path) for path in self._paths.values()), default=1)
        for owner, gpu_seconds in usage.items():
            self.add(owner, gpu_seconds)

    def _build(self, lineage: Lineage) -> None:
        for place, team in enumerate(lineage.teams[1:], start=1):
            if team is None:
                continue
            above = lineage.above[place]
            self._levels.append(Level(team.name, self._levels[above], team.weight, team.priority))
            over = () if above == CLUSTER else self._paths[self._levels[above].name]
            self._paths[team.name] = (*over, self._levels[-1])
        # What a team with teams below it does itself stands beside them, as a team of weight one.
        for place in sorted(set(lineage.above[1:]) - {CLUSTER}):
            own = Level(self._levels[place].name, self._levels[place])
            self._paths[own.name] = (*self._paths[own.name], own)

    def path(self, team: str) -> tuple[Level, ...]:
        """The levels from the top down to the team's own work; a team that nobody knows is at the top."""
        if team not in self._paths:
            self._paths[team] = (Level(team, self._top),)
        return self._paths[team]

    def level(self, team: str, depth: int) -> Level:
        """Its level so deep below the top; where its path is shorter, the last of it."""
        path = self.path(team)
        return path[min(depth, len(path) - 1)]

    def add(self, owner: Owner, gpu_seconds: float) -> None:
        """Count use for the user, the team and all teams above."""
        self.count(owner, grains(gpu_seconds))

    def count(self, owner: Owner, number: int) -> None:
        """The same in grains."""
        if owner not in self.used:
            self._users[owner[0]] += 1
        self.used[owner] = self.used.get(owner, 0) + number
        self._top.used += number
        for level in self.path(owner[0]):
            level.used += number
        self.version += 1

    def penalise(self, running: Iterable[Running], now: Moment, policy: Policy) -> None:
        """Each start counts at once as if it had run for the time of the penalty, until it has."""
        penalty_s = policy.entry_penalty_s
        since = now - penalty_s
        young: Counter[Owner] = Counter()
        for run in running:
            if run.started_at > since:
                young[run.team, run.user] += grains(run.gpus * min(run.started_at - since, penalty_s))
        for owner, number in young.items():
            self.count(owner, number)

    def key(self, owner: Owner, *, borrows: bool) -> Key:
        """Least used against share first, at each level from the top, then by user; surplus by priority first."""
        path = self.path(owner[0])
        used = self.used.get(owner, 0)
        short = self.depth - len(path)
        if not borrows:
            return (*(level.ratio for level in path), *(0.0,) * short, used)
        pairs = [part for level in path for part in (-level.priority, level.ratio)]
        return (*pairs, *(0.0,) * (2 * short), used)

    def user_times(self, used: float, team: str) -> float:
        """What a user of the team used, as a multiple of an even share among its users."""
        total = self.path(team)[-1].used
        return used * self._users[team] / total if total else 0.0


def times(ratio: float, level: Level) -> float:
    """A ratio at this level as a multiple of its share: 1 = its part of what all right beside it used."""
    if ratio >= LAST:
        return inf
    above = level.above
    return ratio * above.weight_below / above.used if above and above.used else 0.0
