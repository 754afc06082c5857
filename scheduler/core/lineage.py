"""The team tree: who stands above whom, and what each level was promised of each GPU type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.core.model import Team

ENDLESS = 1 << 60  # no limit; a whole number, so that sums stay exact
NO_SHARE = -1
CLUSTER = 0  # the place above all teams; teams that nobody knows stand right below it
Path = tuple[int, ...]  # from a team up to the cluster


@dataclass(frozen=True, slots=True)
class Terms:
    """Quota of one GPU type by place in the tree, and what is claimed while nobody holds anything."""

    nominal: list[int]  # NO_SHARE where the level has none
    limit: list[int]  # nominal + borrow
    kept: list[int]  # nominal - lend: the part of idle nominal that nobody else may use
    promised: list[int]  # nominal, and 0 where there is no share
    own: list[int]  # the lowest level with a share on the way up: it is the one that promises
    kept_below: list[int]  # claims of the levels below
    promised_below: list[int]
    split: list[bool]  # whether a level below has a share of its own, be it nothing
    shared: bool  # whether any team has a share of this type: without one there are no limits

    def inside(self, place: int) -> int:
        """What of a level's share is for those who live on it: what it did not promise below."""
        return max(0, self.nominal[place] - self.promised_below[place])


class Lineage:
    """Everything that depends on the teams alone: keep it while they stay the same."""

    def __init__(self, teams: Iterable[Team] = ()) -> None:
        listed = tuple(teams)
        named = {team.name: team for team in listed}
        if len(named) < len(listed):
            raise ValueError("two teams of the team tree have the same name; names must differ")
        self.teams: list[Team | None] = [None]
        self.above: list[int] = [CLUSTER]
        self._paths: dict[str, Path] = {}
        self._terms: dict[str, Terms] = {}
        for team in listed:
            self._add(team, named)

    def _add(self, team: Team, named: dict[str, Team]) -> None:
        """Teams above come first, so that one pass from the end goes from the leaves up."""
        missing: dict[str, Team] = {}
        while team.name not in self._paths:
            missing[team.name] = team
            if team.parent is None:
                break
            above = named.get(team.parent)
            if above is None or above.name in missing:
                raise ValueError(
                    f"the team above {team.name!r} is missing from the team tree or below itself"
                )
            team = above
        for team in reversed(missing.values()):
            path = self._paths[team.parent] if team.parent is not None else (CLUSTER,)
            self._paths[team.name] = (len(self.teams), *path)
            self.above.append(path[0])
            self.teams.append(team)

    def __contains__(self, team: str) -> bool:
        return team in self._paths

    def path(self, team: str) -> Path:
        """The places of the team, the team above it, and so on up to the cluster."""
        return self._paths.get(team, (CLUSTER,))

    def name(self, place: int) -> str:
        """The team's name; "" stands for the whole cluster."""
        team = self.teams[place]
        return "" if team is None else team.name

    def meeting(self, one: str, other: str) -> str | None:
        """The lowest team that both belong to, itself included; None = only the cluster."""
        theirs = self.path(other)  # so short that a set costs more than it saves
        meeting = next(place for place in self.path(one) if place in theirs)
        return None if meeting == CLUSTER else self.name(meeting)

    def below(self, level: str) -> Sequence[Team]:
        """The teams right below one, by name; "" = below the cluster."""
        place = self._paths[level][0] if level else CLUSTER
        found = [team for at, team in zip(self.above, self.teams, strict=True) if team and at == place]
        return sorted(found, key=lambda team: team.name)

    def terms(self, kind: str) -> Terms:
        """The quota of one GPU type, spread over the tree."""
        if kind not in self._terms:
            self._terms[kind] = self._spread(kind)
        return self._terms[kind]

    def _spread(self, kind: str) -> Terms:
        shares = [team.quota.get(kind) if team else None for team in self.teams]
        nominal = [NO_SHARE if share is None else share.nominal for share in shares]
        limit = [
            ENDLESS if share is None or share.borrow is None else share.nominal + share.borrow
            for share in shares
        ]
        kept = [
            0 if share is None or share.lend is None else max(0, share.nominal - share.lend)
            for share in shares
        ]
        own = [CLUSTER] * len(shares)
        for place, above in enumerate(self.above):
            own[place] = own[above] if nominal[place] == NO_SHARE else place
        promised = [max(0, number) for number in nominal]
        below = self._at_rest(kept), self._at_rest(promised)
        split = [False] * len(shares)
        for place in range(len(shares) - 1, CLUSTER, -1):
            split[self.above[place]] |= split[place] or nominal[place] != NO_SHARE
        return Terms(nominal, limit, kept, promised, own, *below, split, split[CLUSTER])

    def _at_rest(self, floors: Sequence[int]) -> list[int]:
        below = [0] * len(floors)
        for place in range(len(floors) - 1, CLUSTER, -1):
            below[self.above[place]] += max(below[place], floors[place])
        return below
