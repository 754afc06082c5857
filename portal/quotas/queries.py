"""Reads about quotas."""

from portal.quotas.models import Quota


def by_team() -> dict[int, list[Quota]]:
    """Every team's quotas, each by GPU type; a team without any is absent. One query."""
    found: dict[int, list[Quota]] = {}
    for quota in Quota.objects.order_by("gpu_type"):
        found.setdefault(quota.team_id, []).append(quota)
    return found
