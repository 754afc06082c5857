"""Time passes for a crowd: what a plan decided happens, some runs end, some jobs arrive."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from portal.bench.crowds import Owner, Size, arrivals
from scheduler.core.model import Job, Running, Seat, Snapshot
from scheduler.core.verbs import Plan

CYCLE_S = 30.0


def after(snap: Snapshot, plan: Plan, changes: int, seed: int) -> Snapshot:
    """The snapshot one cycle later, with so many changes beside the plan: half of them ends, half arrivals."""
    dice, now = Random(f"{seed} {snap.taken_at}"), snap.taken_at + CYCLE_S
    staying = [run for run in snap.running if not run.stopping]
    ended = {run.job for run in dice.sample(staying, min(len(staying), changes // 2))}
    leaving = [run for run in snap.running if run.stopping or run.job in ended]
    waiting = {job.id: job for job in snap.waiting}
    kinds = {node.id: node.gpu_type for node in snap.nodes}
    started = [_run(waiting.pop(one.job), one.seats, kinds[one.seats[0].node], now) for one in plan.starts]
    asked = {stop.job for stop in plan.stops}
    running = [_asked(run, asked, now) for run in staying if run.job not in ended]
    owners = [Owner(*owner) for owner in sorted(snap.usage)]
    first = 1 + max((*waiting, *(run.job for run in snap.running)), default=0)
    numbers = range(first, first + changes - changes // 2)
    fresh = arrivals(dice, owners, numbers, Size(len(snap.nodes), 0), now=now)
    return replace(
        snap,
        taken_at=now,
        free=_free(snap, leaving, started),
        waiting=(*waiting.values(), *(_again(run) for run in leaving if run.stopping), *fresh),
        running=(*running, *started),
        claims=plan.claims,
        promises=plan.promises,
    )


def _free(snap: Snapshot, leaving: Iterable[Running], started: Iterable[Running]) -> NDArray[np.bool_]:
    free, row = snap.free.copy(), {node.id: row for row, node in enumerate(snap.nodes)}
    for runs, empty in ((leaving, True), (started, False)):
        for run in runs:
            for seat in run.seats:
                free[row[seat.node], list(seat.slots)] = empty
    return free


def _asked(run: Running, asked: set[int], now: float) -> Running:
    return replace(run, stopping=True, asked_at=now) if run.job in asked else run


def _run(job: Job, seats: tuple[Seat, ...], kind: str, now: float) -> Running:
    """It started a moment ago."""
    return Running(
        job=job.id,
        team=job.team,
        tier=job.tier,
        gpu_type=kind,
        seats=seats,
        request=job.request,
        started_at=now,
        user=job.user,
        submitted_at=job.submitted_at,
        version=job.version + 1,
        ends_by=None if job.limit_s is None else now + job.limit_s,
        expected_end=None if job.forecast_s is None else now + job.forecast_s,
        preemptible=job.preemptible,
        checkpoints=job.checkpoints,
        stops=job.stops,
    )


def _again(run: Running) -> Job:
    """Who was stopped waits again."""
    return Job(
        id=run.job,
        version=run.version + 1,
        team=run.team,
        user=run.user,
        tier=run.tier,
        submitted_at=run.submitted_at,
        request=run.request,
        preemptible=run.preemptible,
        checkpoints=run.checkpoints,
        seen_s=run.seen_s + (run.asked_at or run.started_at) - run.started_at,
        stops=run.stops + 1,
        stops_today=1,
    )
