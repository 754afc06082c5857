"""One turn of the cycle, and submitting with the planner's word on whether it can ever run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic

from django.db import OperationalError, connection, transaction
from django.db.models import F

from portal import bell
from portal.accounts.models import User
from portal.agents import orders
from portal.agents.actions import close_fence
from portal.agents.queries import live_seats, to_knock_at, with_stopping_runs
from portal.cluster.models import Node
from portal.cluster.queries import gpu_types
from portal.cycle import apply, settle, snapshot, stops, watch
from portal.cycle.models import Cycle
from portal.errors import Conflict, Refusal
from portal.jobs import actions as jobs
from portal.jobs import ask as asks
from portal.jobs import runs
from portal.jobs.ask import Ask
from portal.jobs.models import Job
from portal.journal.actions import note
from portal.journal.models import Entry
from scheduler.core.explain import sentence
from scheduler.core.planner import plan
from scheduler.core.possible import impossible
from scheduler.core.table import Desk

log = logging.getLogger(__name__)

THE_CYCLE = 0x62657274  # the advisory lock: one cycle at a time, whoever runs it
WAIT_MS = 5_000
KEPT = timedelta(days=7)
DESK = Desk()  # what follows from nodes and teams alone: worked out again only when they change
# Which field of a request stands in the way for good; a quota is too small for the whole of it.
OBSTACLE_IN = {
    "type": "gpu_type", "node": "gpus_per_node", "nodes": "nodes", "duration": "limit_s", "firm": "limit_s",
    "jobs": "tier", "kept": "tier",
}  # fmt: skip


def turn(*, now: datetime) -> Cycle | None:
    """Look, think, write; None when another process is at it and does not finish."""
    with _alone() as alone:
        if not alone:
            return None
        began = monotonic()
        watch.lose_the_silent(now=now)
        watch.stop_the_overdue(now=now)
        snap = snapshot.take(now=now)
        decided = plan(snap, DESK)
        nodes, skipped = apply.starts(decided, caps=snap.policy.max_duration_s, now=now)
        with transaction.atomic():  # whose place is being made is known as soon as anybody is asked to go
            stopped = stops.ask(decided.stops, grace_s=snap.policy.grace_s, now=now)
            settle.keep_intent(decided)
        changed = apply.verdicts(decided.verdicts, now=now)
        settle.keep_line(decided)
        settle.read_meter(snap.usage, half_life_s=snap.policy.half_life_s, now=now)
    # Commits are done: the orders that follow can only tell of them.
    orders.send(nodes | set(with_stopping_runs()) | set(to_knock_at(now)), now=now)
    cycle = Cycle(
        began_at=now,
        took_ms=round((monotonic() - began) * 1000),
        waiting=len(snap.waiting),
        started=len(decided.starts) - skipped,
        skipped=skipped,
        stopped=stopped,
    )
    if decided.starts or stopped or changed:
        cycle.save()
    return cycle


def declare_lost(*, node: Node, by: User, now: datetime) -> None:
    """A person knows better than the brakes: this silent node will not come back soon."""
    if node.state(now) != Node.State.SILENT:
        raise Conflict(f"{node.name} is not silent; only a silent node can be declared lost.")
    with _alone() as alone:
        if not alone:
            raise Conflict("The planner is busy; try again in a few seconds.")
        if not watch.lose(node, now=now, why=f"is silent and was declared lost by {by.full_name}", by=by):
            raise Conflict(f"{node.name} was heard of just now.")
    bell.ring()


def expel(*, node: Node, by: User, now: datetime) -> None:
    """Put a node out: none of its keys opens anything any more, and what ran there starts again elsewhere."""
    with _alone() as alone:
        if not alone:
            raise Conflict("The planner is busy; try again in a few seconds.")
        with transaction.atomic():
            why = f"{node.name} was put out by {by.full_name}"
            for seat in live_seats([node.pk]).defer("spec"):
                runs.excuse(seat=seat)
                runs.lose(seat=seat, now=now, why=f"{why}.")
            Node.objects.filter(pk=node.pk).update(
                approved_at=None,
                approved_by=None,
                lost_at=None,
                expelled_at=now,
                key_version=F("key_version") + 1,
            )
            note(about=(Entry.Kind.NODE, node.pk), verb="expelled", actor=by, now=now, sentence=why)
    close_fence(node)
    bell.ring()


def sweep(*, now: datetime) -> int:
    """What a turn did is kept for a week."""
    return Cycle.objects.filter(began_at__lt=now - KEPT).delete()[0]


@contextmanager
def _alone() -> Iterator[bool]:
    """Hold the advisory lock of the cycle; the database gives it back if this process dies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{WAIT_MS}ms"])
        try:
            cursor.execute("SELECT pg_advisory_lock(%s)", [THE_CYCLE])
        except OperationalError:  # beat rings again soon
            yield False
            return
        finally:
            cursor.execute("SELECT set_config('lock_timeout', '0', false)")
    try:
        yield True
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [THE_CYCLE])


def submit(*, ask: Ask, by: User, now: datetime, key: str = "") -> Job:
    """Submit, unless the planner says that it could never run here."""
    if earlier := jobs.asked_before(ask=ask, by=by, key=key):  # even if it could not be asked for now
        return earlier
    asks.check(ask, gpu_types=gpu_types())
    trial = Job(
        team=ask.team, user=by, tier=ask.tier, submitted_at=now, nodes=ask.nodes,
        gpus_per_node=ask.gpus_per_node, gpu_type=ask.gpu_type, limit_s=ask.limit_s,
    )  # fmt: skip
    never = impossible(snapshot.core_job(trial), snapshot.of_hardware(now=now))
    if never is not None:
        field = OBSTACLE_IN.get(str(never.numbers["kind"])) or ("nodes" if ask.nodes > 1 else "gpus_per_node")
        raise Refusal(sentence(never.reason, never.numbers), field=field, code="impossible")
    return jobs.submit(ask=ask, by=by, now=now, key=key)
