"""The team tree: who holds how much of which GPU type, and what that leaves of what others were promised."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from math import inf

from tests.sim.checker.reading import Quota, Team

ROOT = ""
ITSELF = " itself"
Rises = dict[str, int]


class Tree:
    """Counts by team and GPU type, kept along the path from a team to the root.

    claim(team) = max(what it holds, at a parent the claims of its teams, its reserve): what the team has, or must be
    able to have at once; the reserve is nominal - lend. A loan is in order where the claims of all who share the place
    it comes from (the parent's nominal + borrow, at the root the capacity) still fit there. Jobs that sit at a parent
    are a team of their own below it, "<parent> itself", which owns what the parent's nominal leaves over and lends
    all of it. A parent that promised its teams more than it owns answers outside only for what it owns.
    """

    def __init__(self, teams: Mapping[str, Team], capacity: Mapping[str, int], *, lends: bool = True) -> None:
        self.teams, self.capacity, self.lends = teams, dict(capacity), lends
        self.children: dict[str, list[str]] = defaultdict(list)
        for team in teams.values():
            self.children[team.parent or ROOT].append(team.name)
        for parent in [name for name in self.children if name in teams]:
            self.children[parent].append(f"{parent}{ITSELF}")
        self.held: dict[tuple[str, str], int] = defaultdict(int)
        self.claims: dict[tuple[str, str], int] = defaultdict(int)
        self.below: dict[tuple[str, str], int] = defaultdict(int)
        self.path = cache(self._path)
        self.quota = cache(self._quota)
        self.owed = cache(self._owed)
        self.promised = cache(self._promised)
        for kind in capacity:
            self.below[ROOT, kind] = sum(self._settle(name, kind) for name in self.children[ROOT])

    def _path(self, team: str) -> tuple[str, ...]:
        """The team, its parent, and so on; a team that the cluster does not name stands alone under the root."""
        up = [team]
        while (known := self.teams.get(up[-1])) is not None and known.parent:
            up.append(known.parent)
        return (f"{team}{ITSELF}", *up) if self.children.get(team) else tuple(up)

    def steps(self, team: str) -> list[tuple[str, str]]:
        """Each team of the path with what stands above it."""
        path = self.path(team)
        return list(zip(path, (*path[1:], ROOT), strict=True))

    def _quota(self, team: str, kind: str) -> Quota:
        """ "A team that is missing from `teams` … has no quota of its own and runs on what others lend."

        A parent that names no quota for a type stands for its teams together, without limits of its own.
        """
        if team.endswith(ITSELF):
            parent = team.removesuffix(ITSELF)
            return Quota(max(0, self.quota(parent, kind).nominal - self.promised(parent, kind)), inf, inf)
        known = self.teams[team].quota.get(kind) if team in self.teams else None
        return known or Quota(self.promised(team, kind), inf, inf)

    def _promised(self, team: str, kind: str) -> int:
        """What the teams below own together."""
        below = (child for child in self.children.get(team, ()) if not child.endswith(ITSELF))
        return sum(self.quota(child, kind).nominal for child in below)

    def _owed(self, team: str, kind: str) -> int:
        """Its nominal, or more where the teams below were promised more: what they start inside is no loan."""
        below = (child for child in self.children.get(team, ()) if not child.endswith(ITSELF))
        return max(self.quota(team, kind).nominal, sum(self.owed(child, kind) for child in below))

    def backed(self, team: str, kind: str) -> bool:
        """Whether the team owns what it promised."""
        return team == ROOT or self.promised(team, kind) <= self.quota(team, kind).nominal

    def _claim(self, team: str, kind: str) -> int:
        quota = self.quota(team, kind)
        kept = 0 if team.endswith(ITSELF) else quota.nominal - (quota.lend if self.lends else 0)
        held, below = self.held[team, kind], self.below[team, kind]
        wants = below if self.backed(team, kind) else min(below, quota.nominal)
        return int(max(held, wants, kept))

    def _settle(self, team: str, kind: str) -> int:
        """The claims of an empty cluster, from the leaves up."""
        self.below[team, kind] = sum(self._settle(child, kind) for child in self.children.get(team, ()))
        self.claims[team, kind] = self._claim(team, kind)
        return self.claims[team, kind]

    def add(self, team: str, kind: str, gpus: int) -> Rises:
        """Counts GPUs in (or out, when negative); returns by how much each claim of the path rose."""
        rises: Rises = {}
        for name, above in self.steps(team):
            self.held[name, kind] += gpus
            claim = self._claim(name, kind)
            rises[name] = claim - self.claims[name, kind]
            self.claims[name, kind] = claim
            self.below[above, kind] += rises[name]
        return rises

    def over(self, name: str, kind: str) -> bool:
        return self.held[name, kind] > self.quota(name, kind).nominal

    def inside(self, team: str, kind: str, extra: int = 0) -> bool:
        """Whether all along the path, jobs at a parent as a team of their own, nominal is kept with so many more."""
        lodged = self.lodged(team, kind)
        return all(
            self.held[name, kind] + extra + (lodged if name.endswith(ITSELF) else 0)
            <= self.quota(name, kind).nominal
            for name in self.path(team)
        )

    def lodged(self, team: str, kind: str) -> int:
        """What teams below without a quota of their own hold: in one reading they live on this team's."""
        guests = [
            child
            for child in self.children.get(team, ())
            if child in self.teams and kind not in self.teams[child].quota
        ]
        own = (f"{guest}{ITSELF}" if self.children.get(guest) else guest for guest in guests)
        return sum(self.held[name, kind] for name in own) + sum(self.lodged(guest, kind) for guest in guests)

    def loans(self, team: str, kind: str, rises: Rises) -> Iterator[str]:
        """What a start that was just counted in borrows and nobody lends: from the team up, until it is within an owner's."""
        has = self.held
        for name, above in self.steps(team):
            if rises[name] <= 0 or has[name, kind] <= self.owed(name, kind):
                return
            if self.backed(above, kind):
                yield from self.short(name, above, kind)
            has = self.claims

    def short(self, name: str, above: str, kind: str) -> Iterator[str]:
        """ "`lend`: how much of its idle nominal others may use." """
        quota = self.quota(above, kind)
        room = self.capacity.get(kind, 0) if above == ROOT else quota.nominal + quota.borrow
        if self.below[above, kind] > room:
            place = "the cluster" if above == ROOT else f"team {above}"
            claimed = self.below[above, kind]
            yield f"team {name} borrows {kind} that nobody lends: claims of {claimed} on {room:g} of {place}"
