"""What teams hold against what they may hold, at every level of the team tree."""

from collections import Counter
from collections.abc import Iterable, Sequence

from scheduler.core.model import Running, Team


class Books:
    """GPUs held by team and type, each counted for the team and for all teams above it."""

    def __init__(self, teams: Iterable[Team], running: Iterable[Running]) -> None:
        self.lineage = _lineages({team.name: team for team in teams})
        self.held: Counter[tuple[str, str]] = Counter()
        for run in running:
            self.take(run.team, run.gpu_type, run.gpus)

    def take(self, team: str, kind: str, gpus: int) -> None:
        """Count what a run holds, or what a start of this plan will hold."""
        for level in self.levels(team):
            self.held[level.name, kind] += gpus

    def levels(self, team: str) -> Sequence[Team]:
        """The team, the team above it, and so on."""
        if team not in self.lineage:
            raise ValueError(f"team {team!r} is not in the snapshot's team tree")
        return self.lineage[team]

    def reached(self, team: str, kind: str, gpus: int) -> Team | None:
        """The lowest level that would hold more than its nominal quota with these GPUs on top."""
        for level in self.levels(team):
            if kind in level.nominal and self.held[level.name, kind] + gpus > level.nominal[kind]:
                return level
        return None

    def too_small(self, team: str, kind: str, gpus: int) -> Team | None:
        """The lowest level whose nominal quota is smaller than this even while nothing is held."""
        for level in self.levels(team):
            if gpus > level.nominal.get(kind, gpus):
                return level
        return None


def _lineages(teams: dict[str, Team]) -> dict[str, tuple[Team, ...]]:
    return {name: _lineage(team, teams) for name, team in teams.items()}


def _lineage(team: Team, teams: dict[str, Team]) -> tuple[Team, ...]:
    line = [team]
    while line[-1].parent is not None:
        above = teams.get(line[-1].parent)
        if above is None or above in line:
            raise ValueError(
                f"the team above {line[-1].name!r} is missing from the team tree or below itself"
            )
        line.append(above)
    return tuple(line)
