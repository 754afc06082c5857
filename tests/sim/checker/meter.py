"""The contract's arithmetic of work, for one job: what is done, what is kept, when it must end."""

from dataclasses import dataclass
from math import floor

from tests.sim.checker.reading import Job

TOLERANCE = 1e-6


@dataclass(slots=True)
class Meter:
    """Work is in seconds of running with all `gpus`; `since` is when the work counted in `work` goes on."""

    job: Job
    kept: float = 0.0
    begun: float = 0.0
    work: float = 0.0
    since: float = 0.0
    rate: float = 1.0
    asked_at: float | None = None
    swapped_at: float | None = None
    steps: int = 1

    @property
    def slack(self) -> float:
        """Each turn of the story may round once."""
        return TOLERANCE * self.steps

    def start(self, t: float, held: int, first: bool) -> None:
        """ "Work advances at rate (held GPUs / gpus), from the start of run 1, or from start + restart_s of later runs." """
        self.begun = self.work = self.kept
        self.since = t if first else t + self.job.restart_s
        self.rate = held / self.job.gpus if held and self.job.gpus else 1.0
        self.asked_at = self.swapped_at = None
        self.steps += 1

    def ask(self, t: float) -> None:
        self.asked_at = t if self.asked_at is None else self.asked_at

    def done(self, t: float) -> float:
        """ "`ask`: from then on the run works no more." """
        until = t if self.asked_at is None else self.asked_at
        return min(self.job.duration_s, self.work + max(0.0, until - self.since) * self.rate)

    def finish_due(self) -> float:
        return self.since + max(0.0, self.job.duration_s - self.work) / self.rate

    def limit_due(self) -> float:
        """ "limit_s bounds the useful seconds of one run (restart and rolled-back work don't count)." """
        return self.since + self.job.limit_s - (self.work - self.begun) / self.rate

    def overdue(self, t: float) -> str:
        """What should have happened to this run before t."""
        if self.asked_at is not None:
            return ""
        if min(self.finish_due(), self.limit_due()) >= t - self.slack:
            return ""
        if self.finish_due() <= self.limit_due() + self.slack:
            return f"its work was done at t={self.finish_due()}"
        return f"its limit was reached at t={self.limit_due()}"

    def saved(self, t: float) -> tuple[float, ...]:
        """ "Checkpoints fall every checkpoint_s of work since the run began": two answers where one falls right now."""
        done, step = self.done(t), self.job.checkpoint_s
        if step is None:
            return (self.begun,)
        counts = {floor((done - self.begun + nudge) / step) for nudge in (-self.slack, self.slack)}
        return tuple(min(done, self.begun + max(0, count) * step) for count in sorted(counts))

    def roll_back(self, t: float, saved: tuple[float, ...], told: float) -> float:
        """Keeps what was saved, believing the file where a checkpoint falls on the very instant; returns lost_gpu_s."""
        done, gpus = self.done(t), self.job.gpus
        self.kept = min(saved, key=lambda work: abs((done - work) * gpus - told))
        self.steps += 1
        return (done - self.kept) * gpus

    def swap(self, t: float) -> None:
        """ "A swap at t rolls back to the last checkpoint and works again from t + restart_s, once." """
        self.work, self.since, self.swapped_at = self.kept, t + self.job.restart_s, t
