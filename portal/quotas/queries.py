"""Reads about quotas."""

from collections.abc import Iterable, Mapping

from django.db.models import Count

from portal import words
from portal.accounts.models import Team
from portal.cluster.models import Gpu
from portal.quotas.models import Quota

Nominal = Mapping[int, Mapping[str, int]]  # by team, then by GPU type


def by_team() -> dict[int, list[Quota]]:
    """Every team's quotas, each by GPU type; a team without any is absent. One query."""
    found: dict[int, list[Quota]] = {}
    for quota in Quota.objects.order_by("gpu_type"):
        found.setdefault(quota.team_id, []).append(quota)
    return found


def hardware() -> dict[str, int]:
    """GPUs of approved nodes by type, in service or not."""
    there = Gpu.objects.filter(retired_at=None, node__approved_at__isnull=False)
    counted = there.order_by().values_list("node__gpu_type").annotate(n=Count("pk"))
    return dict(counted.order_by("node__gpu_type"))


def strains(team: Team, teams: Iterable[Team], nominal: Nominal, there: Mapping[str, int]) -> list[str]:
    """Where the numbers promise more than there is; allowed, because not everybody asks at once."""
    said: list[str] = []
    below = [one for one in teams if one.parent_id == team.pk]
    beside = [one for one in teams if team.parent_id and one.parent_id == team.parent_id]
    for kind, own in sorted(nominal.get(team.pk, {}).items()):
        if own > there.get(kind, 0):
            said.append(
                f"{words.gpus(own, kind)} for {team}, but approved nodes have {there.get(kind, 0):,}."
            )
        said += _over(team, below, kind, nominal)
    if team.parent is not None:
        for kind in sorted(nominal.get(team.parent.pk, {})):
            if kind in nominal.get(team.pk, {}):
                said += _over(team.parent, beside, kind, nominal)
    return said


def _over(above: Team, below: list[Team], kind: str, nominal: Nominal) -> list[str]:
    limit, total = nominal[above.pk][kind], sum(nominal.get(one.pk, {}).get(kind, 0) for one in below)
    if total <= limit:
        return []
    names = words.listed([one.name for one in below if kind in nominal.get(one.pk, {})])
    return [
        f"The teams below {above} have {words.gpus(total, kind)} together ({names}); {above} has {limit:,}."
    ]
