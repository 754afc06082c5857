"""Reads about quotas."""

from collections.abc import Mapping, Sequence

from django.db.models import Count

from portal import words
from portal.accounts.models import Team
from portal.cluster.models import Gpu
from portal.quotas.models import Quota
from scheduler.core.model import Share

Nominal = Mapping[int, Mapping[str, int]]  # by team, then by GPU type


def by_team() -> dict[int, list[Quota]]:
    """Every team's quotas, each by GPU type; a team without any is absent. One query."""
    found: dict[int, list[Quota]] = {}
    for quota in Quota.objects.order_by("gpu_type"):
        found.setdefault(quota.team_id, []).append(quota)
    return found


def shares_of(team: Team) -> dict[str, Share]:
    """What one team owns, may borrow and lends, by GPU type."""
    return {quota.gpu_type: quota.share for quota in Quota.objects.filter(team=team).order_by("gpu_type")}


def hardware() -> dict[str, int]:
    """GPUs of approved nodes by type, in service or not."""
    there = Gpu.objects.filter(retired_at=None, node__approved_at__isnull=False)
    counted = there.order_by().values_list("node__gpu_type").annotate(n=Count("pk"))
    return dict(counted.order_by("node__gpu_type"))


def strains(team: Team, teams: Sequence[Team], nominal: Nominal, there: Mapping[str, int]) -> list[str]:
    """Where the numbers promise more than there is; allowed, because not everybody asks at once."""
    said: list[str] = []
    below = [one for one in teams if one.parent_id == team.pk]
    beside = [one for one in teams if team.parent_id and one.parent_id == team.parent_id]
    for kind, own in sorted(nominal.get(team.pk, {}).items()):
        if own > there.get(kind, 0):
            said.append(
                f"{words.gpus(own, kind)} for {team}, but approved nodes have {there.get(kind, 0):,}."
            )
        else:
            said += _promised(teams, kind, nominal, there.get(kind, 0))
        said += _over(team, below, kind, nominal)
    if team.parent is not None:
        for kind in sorted(nominal.get(team.parent.pk, {})):
            if kind in nominal.get(team.pk, {}):
                said += _over(team.parent, beside, kind, nominal)
    return said


def _promised(teams: Sequence[Team], kind: str, nominal: Nominal, there: int) -> list[str]:
    """All promises together against what exists: those that stand inside no other team's."""
    parents = {one.pk: one.parent_id for one in teams}
    outermost = [
        one for one in teams
        if kind in nominal.get(one.pk, {})
        and not any(kind in nominal.get(above, {}) for above in _above(one.pk, parents))
    ]  # fmt: skip
    total = sum(nominal[one.pk][kind] for one in outermost)
    if total <= there:
        return []
    names = words.listed([one.name for one in outermost], most=len(outermost))
    return [f"{words.gpus(total, kind)} are promised in all ({names}), but approved nodes have {there:,}."]


def _above(team: int, parents: Mapping[int, int | None]) -> list[int]:
    line: list[int] = []
    while (above := parents.get(line[-1] if line else team)) is not None and above not in line:
        line.append(above)
    return line


def _over(above: Team, below: list[Team], kind: str, nominal: Nominal) -> list[str]:
    limit, total = nominal[above.pk][kind], sum(nominal.get(one.pk, {}).get(kind, 0) for one in below)
    if total <= limit:
        return []
    names = words.listed([one.name for one in below if kind in nominal.get(one.pk, {})])
    return [
        f"The teams below {above} have {words.gpus(total, kind)} together ({names}); {above} has {limit:,}."
    ]
