"""Reads about what GPUs measured, thinned in the database to as many points as a chart can show."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Avg, DateTimeField, DurationField, F, Func, Value

from portal.telemetry.models import Reading


@dataclass(frozen=True, slots=True)
class Mean:
    """What a GPU measured over one step of time; what it never told stays empty."""

    gpu: int
    at: datetime
    util: float | None
    memory_used_mib: float | None
    temp_c: float | None
    power_w: float | None


def means(gpus: Iterable[int], *, begin: datetime, step: timedelta) -> list[Mean]:
    """One row per GPU and step since then, oldest first; a step without readings is absent. One query."""
    binned = Func(
        Value(step, DurationField()), F("at"), Value(begin, DateTimeField()),
        function="DATE_BIN", output_field=DateTimeField(),
    )  # fmt: skip
    rows = (
        Reading.objects.filter(gpu__in=gpus, at__gte=begin)
        .annotate(step=binned)
        .values_list("gpu_id", "step")
        .annotate(Avg("util"), Avg("memory_used_mib"), Avg("temp_c"), Avg("power_w"))
        .order_by("step")
    )
    return [Mean(*row) for row in rows]
