"""Template filters for everything that look and feel says about writing numbers and moments."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html

from portal import moments, words

register = template.Library()

for _plain in (
    words.duration, words.count, words.unit, words.gpu_hours, words.gpu_hours_exact,
    words.money, words.money_round, words.share, words.memory, words.size, words.gpus,
):  # fmt: skip
    register.filter(_plain.__name__, _plain)


@register.filter
def many(number: int, names: str) -> str:
    """{{ n|many:"job" }} or {{ n|many:"person,people" }}."""
    one, _, more = names.partition(",")
    return words.many(number, one, more)


@register.filter
def listed(things: object, most: int = 3) -> str:
    """{{ names|listed }}, {{ names|listed:5 }}."""
    return words.listed(list(things), most)  # type: ignore[call-overload]  # any iterable a view hands over


@register.simple_tag
def shape(nodes: int, per_node: int, gpu_type: str = "") -> str:
    """{% shape job.nodes job.gpus_per_node job.gpu_type %}."""
    return words.shape(nodes, per_node, gpu_type)


def _time(at: datetime, text: str) -> str:
    here = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        here.isoformat(timespec="seconds"), f"{here:%a %d %b %Y, %H:%M:%S %Z}", text,
    )  # fmt: skip


@register.filter
def clock(at: datetime | None, now: datetime) -> str:
    """{{ at|clock:now }}: 13:52, 01:15 tomorrow, 08:30 Wed, 17 Apr, as a time element."""
    return "" if at is None else _time(at, moments.clock(at, now, timezone.get_current_timezone()))


@register.filter
def clock_exact(at: datetime | None) -> str:
    """{{ at|clock_exact }}: 14:25:08."""
    return "" if at is None else _time(at, moments.clock_exact(at, timezone.get_current_timezone()))


@register.filter
def ago(at: datetime | None, now: datetime) -> str:
    """{{ at|ago:now }}: 9 min ago."""
    return "" if at is None else _time(at, moments.ago(at, now))


@register.filter
def since(at: datetime | None, now: datetime) -> str:
    """{{ at|since:now }}: 33 min (since 13:52)."""
    return "" if at is None else _time(at, moments.since(at, now, timezone.get_current_timezone()))


@register.filter
def ahead(at: datetime | None, now: datetime) -> str:
    """{{ at|ahead:now }}: in about 40 min."""
    return "" if at is None else _time(at, moments.ahead(at, now))


@register.filter
def lasted(begin: datetime | None, end: datetime | None) -> str:
    """{{ run.started_at|lasted:run.ended_at }}: 5 h 40 min."""
    return "" if begin is None or end is None else words.duration(end - begin)


@register.filter
def date_line(now: datetime) -> str:
    """{{ now|date_line }}: Tuesday 14 April, 14:25."""
    return moments.date_line(now, timezone.get_current_timezone())
