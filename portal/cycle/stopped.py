"""What was stopped for others lately, as far as the rules of stopping count it."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Q

from portal.jobs.models import Receipt, Run

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@dataclass(slots=True)
class Stopped:
    """Counts of the last day, and of the last hour for moves."""

    jobs: Counter[int] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)
    moves: int = 0


def stopped_lately(*, now: datetime) -> Stopped:
    """One query over the receipts of a day."""
    found = Stopped()
    moved = Q(why=Run.Cause.MOVED, at__gt=now - HOUR)
    rows = (
        Receipt.objects.filter(at__gt=now - DAY)
        .order_by()
        .values_list("run__job_id", "run__job__user__email")
    )
    for job, user, stops, moves in rows.annotate(stops=Count("pk"), moves=Count("pk", filter=moved)):
        found.jobs[job] += stops
        found.users[user] += stops
        found.moves += moves
    return found
