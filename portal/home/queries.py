"""Reads for the frame around every page."""

from dataclasses import dataclass

from django.db.models import Count, Q

from portal.accounts.models import User
from portal.cluster.models import Cluster
from portal.jobs.models import OVER, Job


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers beside the navigation."""

    mine: int  # my jobs that are not over
    waiting: int  # everybody's


def counts(user: User) -> Counts:
    """One query over the jobs that are not over: a short stretch of an index, however long the history is."""
    live = [phase for phase in Job.Phase.values if phase not in OVER]
    found = Job.objects.filter(phase__in=live).aggregate(
        mine=Count("id", filter=Q(user=user)), waiting=Count("id", filter=Q(phase=Job.Phase.WAITING))
    )
    return Counts(**found)


def cluster_names() -> list[str]:
    """For the line at the foot of the side bar."""
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))
