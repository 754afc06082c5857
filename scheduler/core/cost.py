"""What stopping a run costs, in GPU-seconds."""

from scheduler.core.model import Moment, Running


def lost_work(run: Running, now: Moment) -> float:
    """GPUs x (time since the last commit + restart); one that saves when it is asked loses the restart alone."""
    return run.gpus * ((0.0 if run.checkpoints else unsaved_s(run, now)) + run.restart_s)


def unsaved_s(run: Running, now: Moment) -> float:
    """Seconds of work that nobody has saved yet."""
    since = run.started_at if run.useful_from is None else run.useful_from
    if run.saved_at is not None:
        since = max(since, run.saved_at)  # a commit of an earlier run is older than this one
    return max(0.0, now - since)
