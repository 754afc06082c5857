"""What is known before a job is submitted: room, quota, price and who waits already. No estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.forms import ValidationError

from portal.accounts.models import Team
from portal.jobs import capacity
from portal.jobs.ask import GPUS_PER_NODE_AT_MOST, NODES_AT_MOST
from portal.jobs.capacity import TypeRoom
from portal.jobs.charts import QuotaBar, quota_bar
from portal.jobs.forms import seconds
from portal.jobs.models import Job
from portal.jobs.order import TIERS
from portal.showback.queries import rates


@dataclass(frozen=True, slots=True)
class Asked:
    """As much of a half-filled form as makes sense; 0 and empty where it does not yet."""

    nodes: int = 0
    per_node: int = 0
    gpu_type: str = ""
    tier: str = Job.Tier.STANDARD
    limit_s: int | None = None

    @property
    def gpus(self) -> int:
        return self.nodes * self.per_node


@dataclass(frozen=True, slots=True)
class Price:
    """What the asked shape costs on one type."""

    gpu_type: str
    each: int  # micro-units per GPU and hour
    hour: int
    most: int | None  # with the whole limit used


@dataclass(frozen=True, slots=True)
class Outlook:
    """The facts beside the form."""

    asked: Asked
    rooms: Sequence[TypeRoom]
    bars: Sequence[QuotaBar]
    prices: Sequence[Price]
    waiting_jobs: int
    waiting_gpus: int

    @property
    def fitting(self) -> list[tuple[TypeRoom, int]]:
        """For each type the nodes with enough free GPUs for one seat of this job."""
        return [(room, room.fitting(self.asked.per_node)) for room in self.rooms] if self.asked.gpus else []

    @property
    def unpriced(self) -> list[str]:
        priced = {price.gpu_type for price in self.prices}
        return [room.gpu_type for room in self.rooms if room.gpu_type not in priced]


def asked(told: Mapping[str, Any]) -> Asked:
    """What a form says so far."""
    tier = told.get("tier")
    try:
        limit = seconds(str(told.get("limit") or ""))
    except ValidationError:
        limit = None
    return Asked(
        nodes=_number(told.get("nodes"), NODES_AT_MOST),
        per_node=_number(told.get("gpus_per_node"), GPUS_PER_NODE_AT_MOST),
        gpu_type=str(told.get("gpu_type") or "").replace("\0", ""),  # PostgreSQL cannot even be asked for one
        tier=tier if tier in Job.Tier.values else Job.Tier.STANDARD,
        limit_s=limit,
    )


def _number(value: object, most: int) -> int:
    text = str(value or "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return 0
    return int(text) if int(text) <= most else 0


def outlook(ask: Asked, team: Team, *, now: datetime) -> Outlook:
    """Seven queries, whatever was asked."""
    kinds = (ask.gpu_type,) if ask.gpu_type else ()
    rooms = capacity.rooms(now=now, gpu_type=ask.gpu_type)
    levels = capacity.levels([team.pk], kinds)[team.pk]
    ahead = TIERS[: TIERS.index(Job.Tier(ask.tier)) + 1]
    jobs, gpus = capacity.waiting(gpu_type=ask.gpu_type, tiers=ahead)
    return Outlook(
        asked=ask,
        rooms=rooms,
        bars=[quota_bar(level, ask.gpus) for level in levels],
        prices=_prices(ask, [room.gpu_type for room in rooms], now=now),
        waiting_jobs=jobs,
        waiting_gpus=gpus,
    )


def _prices(ask: Asked, kinds: Sequence[str], *, now: datetime) -> list[Price]:
    table = rates()
    found = []
    for kind in kinds:
        begun = [micros for since, micros in table.get(kind, ()) if since <= now]
        if begun:
            hour = begun[-1] * ask.gpus
            most = None if ask.limit_s is None else hour * ask.limit_s // 3_600
            found.append(Price(kind, begun[-1], hour, most))
    return found
