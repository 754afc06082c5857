"""What teams spent since a moment, summed from holds in the database and priced by the rates of each day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Func, Q, Sum, Value
from django.db.models.functions import Greatest, Least

from portal.accounts.models import User
from portal.jobs.models import Hold
from portal.showback.pricing import Bill, Rates
from portal.showback.queries import rates


@dataclass(frozen=True, slots=True)
class Spent:
    """A team and what it spent."""

    team: str
    kind: int
    bill: Bill


MS = timedelta(milliseconds=1)


class Cut(Func):
    """A moment cut to its millisecond as showback.pricing.ms_between cuts it, so that sums agree."""

    template = "DATE_TRUNC('milliseconds', %(expressions)s)"
    output_field = DateTimeField()


def month_of(now: datetime) -> datetime:
    """The first moment of this month, in the zone of `now`."""
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def spent(*, begin: datetime, now: datetime, user: User | None = None) -> list[Spent]:
    """By team, the dearest first; a query for each stretch of time without a change of rates."""
    prices = rates()
    changes = {since for each in prices.values() for since, _ in each if begin < since < now}
    found: dict[tuple[str, int], Bill] = {}
    for since, until in pairwise(sorted({begin, now} | changes)):
        for team, kind, gpu_type, ms in _held(since, until, user):
            before = found.get((team, kind), Bill())
            found[team, kind] = _plus(before, ms, _price(prices, gpu_type, since))
    bills = [Spent(team, kind, bill) for (team, kind), bill in found.items()]
    return sorted(bills, key=lambda one: (-one.bill.micro_ms, -one.bill.gpu_ms, one.team))


def _held(since: datetime, until: datetime, user: User | None) -> list[tuple[str, int, str, int]]:
    """GPU time inside the stretch, by team and GPU type."""
    holds = Hold.objects.filter(Q(released_at=None) | Q(released_at__gt=since), held_from__lt=until)
    if user is not None:
        holds = holds.filter(run__job__user=user)
    end, begin = Least("released_at", Value(until)), Greatest("held_from", Value(since))
    keys = ("run__job__team__name", "run__job__team__kind", "gpu__node__gpu_type")
    held = ExpressionWrapper(Cut(end) - Cut(begin), output_field=DurationField())
    summed = holds.values(*keys).annotate(held=Sum(held)).values_list(*keys, "held")
    return [(team, kind, gpu_type, span // MS) for team, kind, gpu_type, span in summed]


def _price(prices: Rates, gpu_type: str, at: datetime) -> int | None:
    valid = [micros for since, micros in prices.get(gpu_type, ()) if since <= at]
    return valid[-1] if valid else None


def _plus(bill: Bill, ms: int, price: int | None) -> Bill:
    return Bill(
        gpu_ms=bill.gpu_ms + ms,
        micro_ms=bill.micro_ms + ms * (price or 0),
        unpriced_ms=bill.unpriced_ms + (0 if price is not None else ms),
    )


def total(each: list[Spent]) -> Bill:
    """All of it."""
    bills = [one.bill for one in each]
    return Bill(
        *(sum(getattr(bill, part) for bill in bills) for part in ("gpu_ms", "micro_ms", "unpriced_ms"))
    )
