"""Recall: when an older job's turn has come, and what may still start in its way until then."""

from math import inf

from scheduler.core.model import Job, Moment, Running
from scheduler.core.policy import Policy


def due_at(job: Job, policy: Policy) -> Moment:
    """From then on its wait protects it: what started ahead of it makes way.

    Who was stopped for others has had a turn, and is protected again after a time of its own.
    """
    if job.stopped_at is not None:
        return job.stopped_at + policy.protect_again_s
    return job.submitted_at + policy.protect_after_s


def guarded_from(job: Job, policy: Policy) -> Moment:
    """From then on nothing starts in its way that would probably still run when it falls due."""
    due = due_at(job, policy)
    since = job.submitted_at if job.stopped_at is None else job.stopped_at
    return since + policy.guard_share * (due - since)


def reaches(job: Job, moment: Moment, now: Moment) -> bool:
    """Whether one such job in ten, or more, still runs then; one of unknown length is short until that moment is here."""
    if now >= moment:
        return True
    left = job.p90_s if job.limit_s is None else min(job.limit_s, inf if job.p90_s is None else job.p90_s)
    return left is not None and now + left > moment


def ran_s(run: Running, now: Moment) -> float:
    """How long the job has run in all, as far as anybody has seen."""
    return run.seen_s + now - run.started_at


def ran_long(job: Job, run: Running, now: Moment, policy: Policy) -> bool:
    """Whether a run could be recalled for an older job before that is due: no limit says when it ends.

    Who has run long will probably run long; who has not will probably be done soon.
    """
    return run.ends_by is None and ran_s(run, now) > max(policy.recall_after_s, job.seen_s)
