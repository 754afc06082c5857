"""Receipts in words: for whom a run made way, by which rule, what that lost, and what else was considered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal import words
from portal.accounts.queries import Standing
from portal.jobs.models import Job, Receipt, Run

GPU_MS = 1000
# Why a cheaper run was left alone; each follows "1 job" or "3 jobs".
SPARED = {
    "stopping": "already asked to stop",
    "not_preemptible": "may not be stopped",
    "minimum_runtime": "not yet past the minimum runtime",
    "stopped_today": "stopped as often as a job may be in a day",
    "user_stopped_today": "of somebody whose jobs were stopped as often as allowed in a day",
    "immune": "called back as often as a job may be",
    "covered": "inside team quota",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A receipt for one reader: jobs that they may not see are counted, not named."""

    receipt: Receipt
    rule: str
    for_job: Job | None  # only where the reader may see it
    considered: tuple[str, ...]

    @property
    def lost(self) -> str:
        return words.gpu_hours(self.receipt.lost_gpu_ms) if self.receipt.lost_gpu_ms else "none"


def receipts_of(runs: Sequence[Run], standing: Standing) -> dict[int, Told]:
    """By run; one query."""
    rows = Receipt.objects.filter(run__in=[run.pk for run in runs]).select_related("for_job__team")
    return {row.run_id: told(row, standing) for row in rows.defer("for_job__command", "for_job__env")}


def told(receipt: Receipt, standing: Standing) -> Told:
    """In the reader's words."""
    other = receipt.for_job
    known = standing.may("job.see", team_id=other.team_id, owner_id=other.user_id)
    considered = tuple(_considered(each) for each in receipt.rejected)
    return Told(receipt, rule_of(receipt), other if known else None, considered)


def rule_of(receipt: Receipt) -> str:
    """The rule with its numbers, in a sentence or two."""
    numbers, other = receipt.rule, receipt.for_job
    match receipt.why:
        case Run.Cause.RECLAIMED:
            return _reclaimed(numbers, other)
        case Run.Cause.RECALLED:
            return _recalled(numbers, other)
        case Run.Cause.MOVED:
            return f"It was in the way of a job of team {other.team.name} that needs its GPUs close together."
        case _:
            return f"A {other.tier} job of team {other.team.name} goes before work of a lower tier."


def _reclaimed(n: Mapping[str, Any], other: Job) -> str:
    team = n.get("for_team", other.team.name)
    if "for_nominal" not in n:
        return f"Team {team} asked for GPUs of its own that it had lent."
    owner = (
        f"Team {team} owns {n['for_nominal']:,}, held {n['for_held']:,} and asked for {n['asked']:,} more."
    )
    return f"{owner} Team {n['team']} held {n['held']:,} and owns {n['nominal']:,}."


def _recalled(n: Mapping[str, Any], other: Job) -> str:
    if "submitted_later_s" not in n:
        return f"It had started ahead of an older {other.tier} job of team {other.team.name}."
    age = words.duration(n["submitted_later_s"])
    ahead = f"It had started ahead of a {other.tier} job of team {other.team.name} that was submitted {age} earlier."
    return f"{ahead} This is stop {n['stops'] + 1} of at most {n['max_recalls']}."


def _considered(n: Mapping[str, Any]) -> str:
    jobs = words.many(len(n.get("jobs", ())), "job")
    cost = words.gpu_hours(round(n.get("cost_gpu_s", 0) * GPU_MS))
    if n.get("why") in SPARED:
        return f"{jobs} ({cost}): {SPARED[n['why']]}"
    within = f" in one {n['within']}" if n.get("within") in ("node", "rack", "block") else ""
    return f"{jobs}{within}: would have cost {cost}"


def plain(told: Told) -> dict[str, Any]:
    """For the API, under the same rule about names."""
    row = told.receipt
    return {
        "at": row.at, "why": row.why, "rule": told.rule, "lost_gpu_s": row.lost_gpu_ms / GPU_MS,
        "for": {"job": told.for_job.pk if told.for_job else None, "team": row.for_job.team.name, "tier": row.for_job.tier},
        "considered": list(told.considered),
    }  # fmt: skip
