"""Reads about money: the rates in force over time."""

from datetime import datetime

from portal.showback.models import Rate
from portal.showback.pricing import Rates


def rates() -> Rates:
    """All rates by type, oldest first: a handful of rows."""
    found: dict[str, list[tuple[datetime, int]]] = {}
    for rate in Rate.objects.order_by("gpu_type", "valid_from"):
        found.setdefault(rate.gpu_type, []).append((rate.valid_from, rate.micros_per_hour))
    return found
