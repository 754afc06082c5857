"""The ranks of a run as its page shows them: where each runs, how it ended, which one broke the run."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from portal.cluster.models import Node
from portal.jobs.models import Rank, Run

RANKS_SHOWN = 64
STOPPED_BY = (signal.SIGTERM, signal.SIGKILL)  # how a run is ended from outside


@dataclass(frozen=True, slots=True)
class RankLine:
    """A rank in the table, with what its GPU measured last while it runs."""

    rank: Rank
    node: str
    slot: int
    state: str  # for the badge: a rank that Berth stopped did not fail
    word: str
    exit: str
    util: float | None = None
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of a run: how many in each state, and those that are shown."""

    lines: Sequence[RankLine]
    total: int
    running: int
    activity: float | None  # mean of what the GPUs say now, in percent
    first_wrong: RankLine | None = None  # which broke the run, as far as exits and times tell


def ranks_of(run: Run | None, *, everything: bool = False) -> Ranks:
    """Those that went wrong first, where not all are shown; two queries."""
    if run is None:
        return Ranks([], 0, 0, None)
    found = list(_ranks(run))
    live = run.phase != Run.Phase.ENDED
    seen = _newest_readings(run) if live else {}
    told = [seen[rank.gpu.uuid] for rank in found if rank.gpu.uuid in seen]
    utils = [one["util"] for one in told if one.get("util") is not None]
    shown = found if everything or len(found) <= RANKS_SHOWN else found[:RANKS_SHOWN]
    first = _first_wrong(run, found)
    return Ranks(
        lines=[_line(rank, seen, first) for rank in sorted(shown, key=lambda rank: rank.rank)],
        total=len(found),
        running=sum(rank.state == Rank.State.RUNNING for rank in found),
        activity=sum(utils) / len(utils) if utils else None,
        first_wrong=_line(first, seen, first) if first else None,
    )


def _first_wrong(run: Run, ranks: Sequence[Rank]) -> Rank | None:
    """The rank that broke a failed run: an exit of its own before a signal, and the earliest."""
    if run.cause != Run.Cause.FAILED:
        return None
    wrong = [rank for rank in ranks if rank.exit_code or rank.signal]
    late = datetime.max.replace(tzinfo=UTC)
    return min(wrong, key=lambda rank: (bool(rank.signal), rank.ended_at or late, rank.rank), default=None)


def _ranks(run: Run) -> QuerySet[Rank]:
    wrong = Q(state=Rank.State.LOST) | Q(signal__isnull=False) | Q(exit_code__isnull=False) & ~Q(exit_code=0)
    first = Case(When(wrong, then=Value(0)), default=Value(1), output_field=IntegerField())
    ranks = Rank.objects.filter(run=run).select_related("gpu__node").annotate(first=first)
    heavy = ("latest", "hardware", "hardware_reported")
    return ranks.defer(*(f"gpu__node__{name}" for name in heavy)).order_by("first", "rank")


def _newest_readings(run: Run) -> dict[str, dict[str, Any]]:
    """What the newest beats of the run's nodes said, by GPU."""
    nodes = Node.objects.filter(seats__run=run).values_list("latest", flat=True)
    return {one["uuid"]: one for latest in nodes for one in latest.get("gpus", [])}


def _line(rank: Rank, seen: dict[str, dict[str, Any]], first: Rank | None) -> RankLine:
    gpu = rank.gpu
    reading = seen.get(gpu.uuid, {}) if rank.state == Rank.State.RUNNING else {}
    state, word = _outcome(rank, first)
    return RankLine(
        rank, gpu.node.name, gpu.slot, state, word, _exit(rank),
        util=reading.get("util"), memory_mib=reading.get("memory_used_mib"),
    )  # fmt: skip


def _outcome(rank: Rank, first: Rank | None) -> tuple[str, str]:
    """The look and the word for how a rank is or ended."""
    if rank.state != Rank.State.ENDED:
        return rank.state, ""
    if rank.exit_code or rank == first:
        return "failed", "Failed"
    if rank.signal in STOPPED_BY:
        return "cancelled", "Stopped"
    return ("failed", "Killed") if rank.signal else ("finished", "Finished")


def _exit(rank: Rank) -> str:
    if rank.signal:
        try:
            return f"signal {rank.signal} ({signal.Signals(rank.signal).name})"
        except ValueError:
            return f"signal {rank.signal}"
    return "" if rank.exit_code is None else f"exit {rank.exit_code}"
