"""The arithmetic of one run's work: how far it is, what is saved, what a stop or a swap loses, when it ends."""

from dataclasses import dataclass
from math import floor, inf

from scheduler.sim.workload import Ask

# Work is a float: a checkpoint that falls on this very instant must not be missed by a rounding error.
SLACK = 1e-9
UNCOUNTED = 2.0**53
# The contract leaves open how long a pretend job takes to save and acknowledge; its example takes 3 s.
ANSWER_S = 5.0


@dataclass(slots=True)
class Progress:
    """Work of one run, in seconds of running on all its GPUs; a run that holds fewer is slower by that share."""

    held: int
    gpus: int
    checkpoint_s: float | None
    restart_s: float
    since: float  # work advances from here on; infinite while the run is frozen
    commit: float  # when the last checkpoint fell, as of `mark`; the start of the run where there was none
    mark: float = 0.0  # work since the run began that still counted at `since`

    def done(self, now: float) -> float:
        """Work since the run began, without what was rolled back."""
        return self.mark + max(0.0, now - self.since) * self.held / self.gpus

    def saved(self, now: float) -> float:
        """The part of it that the last checkpoint holds."""
        if self.checkpoint_s is None:
            return 0.0
        done = self.done(now)
        steps = done / self.checkpoint_s
        # So many that a double no longer counts them: it saves without pause.
        return done if steps > UNCOUNTED else min(done, floor(steps + SLACK) * self.checkpoint_s)

    def unsaved(self, now: float) -> float:
        """Work that a loss at this moment would cost, in seconds of work."""
        return self.done(now) - self.saved(now)

    def saved_at(self, now: float) -> float:
        """When the last checkpoint fell; the start of the run where there was none since."""
        saved = self.saved(now)
        return self.when(saved) if saved > self.mark else self.commit

    def seconds(self, work: float) -> float:
        """How long this run takes for so much work."""
        return work * self.gpus / self.held

    def when(self, work: float) -> float:
        """The time at which it will have done so much since it began, if nothing happens to it."""
        return self.since + self.seconds(work - self.mark)

    def freeze(self, now: float) -> None:
        """Asked to stop: it works no more."""
        self.commit = self.saved_at(now)
        self.mark, self.since = self.done(now), inf

    def roll_back(self, now: float) -> float:
        """Go on from the last checkpoint after a restart; returns the GPU-seconds that this loses."""
        kept = self.saved(now)
        lost = (self.done(now) - kept) * self.gpus
        self.commit = self.saved_at(now)
        # A second swap of this instant finds nothing more to lose and the same time to go on from.
        self.mark, self.since = kept, now + self.restart_s
        return lost


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a run ends if nobody stops it: so much work since it began, as a finish or at its limit."""

    work: float
    finishes: bool


def goal(progress: Progress, left: float, limit_s: float | None) -> Goal:
    """The limit counts useful seconds of this run alone; work that ends exactly there finishes."""
    if limit_s is None or progress.seconds(left) <= limit_s * (1 + SLACK):
        return Goal(left, finishes=True)
    return Goal(limit_s * progress.held / progress.gpus, finishes=False)


def begin(now: float, ask: Ask, *, number: int, held: int) -> Progress:
    """The first run of a job works at once; a later one must become useful again first."""
    since = now if number == 1 else now + ask.restart_s
    return Progress(held, ask.gpus, ask.checkpoint_s, ask.restart_s, since=since, commit=now)


def answer(checkpoint_s: float | None, grace_s: float) -> tuple[float, bool]:
    """How long after the ask a run stops, and whether it acknowledges by then.

    A job that never checkpoints has nothing to save and nothing to wait for: it goes at once.
    """
    if checkpoint_s is None:
        return 0.0, False
    return min(ANSWER_S, grace_s), grace_s >= ANSWER_S
