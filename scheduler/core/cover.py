"""Which part of what a team holds is covered by its nominal quota: that part is never taken for another team."""

from collections import Counter
from collections.abc import Iterable, Mapping

from scheduler.core.lineage import CLUSTER, Lineage
from scheduler.core.model import Running, Tier

DOWNWARDS = sorted(Tier, reverse=True)


class Pot:
    """What runs under one promise, counted by tier and size.

    Gangs are whole, so a team above its nominal still has a part that fits inside: the most production,
    beside it the most standard, beside that the most opportunistic work. Which runs make it up is open;
    how much it is may not shrink when something is taken for others.
    """

    __slots__ = ("_best", "here", "nominal", "sizes", "version")

    def __init__(self, nominal: int) -> None:
        self.nominal = nominal
        self.version = 0  # grows with every change
        self.sizes: dict[Tier, Counter[int]] = {tier: Counter() for tier in Tier}
        self.here: Pot | None = None  # only what runs already, where places are being made for others
        self._best: dict[tuple[Tier, tuple[int, ...]], int] = {}

    def add(self, tier: Tier, gpus: int, *, runs: int = 1, coming: bool = False) -> None:
        """One more run of this tier and size, or one for which a place is being made; `runs=-1`: one fewer."""
        if coming and self.here is None:
            self.here = self.copy()
        elif self.here is not None and not coming:
            self.here.add(tier, gpus, runs=runs)
        self.sizes[tier][gpus] += runs
        self.version += 1
        self._best.clear()

    def covered(self, tier: Tier, gone: tuple[int, ...] = ()) -> int:
        """How much of a tier fits beside the tiers above it, with runs of these sizes gone from it."""
        key = (tier, gone)
        if key not in self._best:
            left = self.sizes[tier].copy()
            left.subtract(gone)
            self._best[key] = fullest(left, self._room(tier))
        return self._best[key]

    def spares(self, tier: Tier, gone: tuple[int, ...]) -> bool:
        """Whether as much as now is covered without runs of these sizes. What tiers below keep follows.

        What is only coming makes nobody spare: until it is there, what runs may be all that the team holds of its own.
        """
        if self.covered(tier, gone) != self.covered(tier):
            return False
        return self.here is None or self.here.spares(tier, gone)

    def gains(self, tier: Tier, gpus: int) -> bool:
        """Whether one more run of this tier and size would have more of it covered."""
        return fullest(self.sizes[tier] + Counter((gpus,)), self._room(tier)) > self.covered(tier)

    def copy(self) -> "Pot":
        """The same, to try something out."""
        twin = Pot(self.nominal)
        twin.sizes = {tier: sizes.copy() for tier, sizes in self.sizes.items()}
        twin.here = None if self.here is None else self.here.copy()
        return twin

    def _room(self, tier: Tier) -> int:
        return self.nominal - sum(self.covered(above) for above in DOWNWARDS if above > tier)


def fullest(sizes: Mapping[int, int], room: int) -> int:
    """The most that some of these gangs fill of a room: bit n of `sums` says that n can be made."""
    if sum(size * count for size, count in sizes.items()) <= room:
        return sum(size * count for size, count in sizes.items())
    sums, inside = 1, (2 << max(room, 0)) - 1
    for size, count in sizes.items():
        part = 1
        while count > 0 and size <= room:  # 1, 2, 4, … of them at once: any number is a sum of those
            part = min(part, count)
            sums |= (sums << (size * part)) & inside
            count -= part
            part *= 2
    return sums.bit_length() - 1


class Cover:
    """The pots of all teams, as far as the plan has come."""

    def __init__(self, lineage: Lineage, running: Iterable[Running] = ()) -> None:
        self._lineage = lineage
        self._pots: dict[tuple[int, str, bool], Pot] = {}
        self._guards: dict[tuple[str, str, int], tuple[Pot, ...]] = {}  # asked for every team by every search
        for run in running:
            if not run.stopping:  # it is on its way out and covers nothing
                self.add(run.team, run.gpu_type, run.tier, run.gpus)

    def add(self, team: str, kind: str, tier: Tier, gpus: int, *, coming: bool = False) -> None:
        """Count a start, or one for which a place is being made."""
        for pot in self.guards(team, kind, CLUSTER):
            pot.add(tier, gpus, coming=coming)

    def remove(self, team: str, kind: str, tier: Tier, gpus: int) -> None:
        """Count a stop."""
        for pot in self.guards(team, kind, CLUSTER):
            pot.add(tier, gpus, runs=-1)

    def copy(self) -> "Cover":
        """The same pots, to try something out."""
        twin = Cover(self._lineage)
        twin._pots = {key: pot.copy() for key, pot in self._pots.items()}
        return twin

    def own(self, team: str, kind: str) -> Pot | None:
        """The pot of the lowest level with a share; None = nobody promised this team anything."""
        terms = self._lineage.terms(kind)
        place = terms.own[self._lineage.path(team)[0]]
        if place == CLUSTER:
            return None
        return self._pot((place, kind, terms.split[place]), terms.inside(place))

    def guards(self, team: str, kind: str, until: int) -> tuple[Pot, ...]:
        """Its own pot, and those of the levels with a share below `until`: each may protect its runs."""
        key = (team, kind, until)
        if key not in self._guards:
            self._guards[key] = tuple(self._guarding(team, kind, until))
        return self._guards[key]

    def _guarding(self, team: str, kind: str, until: int) -> list[Pot]:
        own = self.own(team, kind)
        pots = [] if own is None else [own]
        nominal = self._lineage.terms(kind).nominal
        for place in self._lineage.path(team):
            if place == until:
                break
            if nominal[place] >= 0 and (pot := self._pot((place, kind, False), nominal[place])) is not own:
                pots.append(pot)
        return pots

    def _pot(self, key: tuple[int, str, bool], nominal: int) -> Pot:
        if key not in self._pots:
            self._pots[key] = Pot(max(0, nominal))
        return self._pots[key]
