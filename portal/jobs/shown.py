"""Jobs as plain values for the API, in one line or whole."""

from datetime import datetime
from typing import Any

from portal.accounts.queries import Standing
from portal.jobs import queries, receipts
from portal.jobs.models import FOR_OTHERS, Job, Run
from portal.jobs.waits import wait_of

HIDDEN = "hidden: only the team, its leads and administrators see values"


def line(job: Job) -> dict[str, Any]:
    """What a list shows."""
    fields = (
        "id",
        "name",
        "tier",
        "phase",
        "nodes",
        "gpus_per_node",
        "gpu_type",
        "limit_s",
        "submitted_at",
        "ended_at",
    )
    return {field: getattr(job, field) for field in fields} | {"team": job.team.name, "user": job.user.email}


def whole(job: Job, standing: Standing, *, now: datetime) -> dict[str, Any]:
    """What there is to know of one job; what it was given to work with only for those inside its team."""
    bill, wait = queries.cost(job, now=now), wait_of(job, standing, now=now)
    inside = standing.may("job.log", team_id=job.team_id, owner_id=job.user_id)
    runs = list(Run.objects.filter(job=job).prefetch_related("ranks", "seats__node"))
    made_way = [run for run in runs if run.cause in FOR_OTHERS]
    told = receipts.receipts_of(made_way, standing) if made_way else {}
    return line(job) | {
        "command": job.command,
        "env": job.env if inside else dict.fromkeys(job.env, HIDDEN),
        "stops": job.stops,
        "runs": [_run(run, told.get(run.pk)) for run in runs],
        "why": wait.plain if wait else None,
        "cost": {
            "gpu_ms": bill.gpu_ms,
            "gpu_hours": round(bill.gpu_hours, 4),
            "micros": bill.micros,
            "unpriced_gpu_ms": bill.unpriced_ms,
        },
    }


def _run(run: Run, receipt: receipts.Told | None) -> dict[str, Any]:
    return {
        "epoch": run.epoch,
        "phase": run.phase,
        "cause": run.cause or None,
        "on_recall": run.on_recall,
        "receipt": receipts.plain(receipt) if receipt else None,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "asked_at": run.asked_at,
        "ended_at": run.ended_at,
        "nodes": [seat.node.name for seat in run.seats.all()],
        "ranks": [
            {
                "rank": rank.rank,
                "state": rank.state,
                "exit": rank.exit_code,
                "signal": rank.signal,
                "started_at": rank.started_at,
                "ended_at": rank.ended_at,
            }
            for rank in run.ranks.all()
        ],
    }
