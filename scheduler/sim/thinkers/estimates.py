"""When a job that is being submitted should start: from the plan of that instant, as such guesses have turned out."""

from bisect import bisect_right
from itertools import accumulate
from operator import attrgetter

from scheduler.core.verbs import Plan
from scheduler.sim.history import size_class
from scheduler.sim.thinker import HORIZON_S
from scheduler.sim.thinkers.outcomes import Bucket, Guess, Outcomes
from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.work import ANSWER_S

HOUR_S = 3600.0
# A protected reservation falls due at a stated age; making the place takes a little longer.
PROTECTED = 1.05


class _Load:
    """The work that a plan leaves: what runs, and what waits by how quick it is."""

    def __init__(self, snapshots: Snapshots, plan: Plan) -> None:
        now = snapshots.world.now
        self.plan = plan
        self.starts = {start.job for start in plan.starts}
        self.claimed = {claim.job for claim in plan.claims}
        self.promised = {promise.job: promise.at for promise in plan.promises}
        held = snapshots.holders.running.values()
        self.running = sum(run.gpus * max(0.0, (run.expected_end or now) - now) for run in held)
        left = [job for job in snapshots.lineup.waiting if job.id not in self.starts]
        left.sort(key=attrgetter("forecast_s"))
        self._forecasts = [job.forecast_s or 0.0 for job in left]
        work = (job.request.gpus * (job.forecast_s or 0.0) for job in left)
        self._work = [0.0, *accumulate(work)]

    def before(self, forecast_s: float) -> float:
        """GPU-seconds that end or start before a job so quick: the fill takes the quickest first."""
        return self.running + self._work[bisect_right(self._forecasts, forecast_s)]


class Estimates:
    """Guesses, and keeps score of its guesses."""

    def __init__(self) -> None:
        self._outcomes = Outcomes()
        self._load: _Load | None = None

    def times(self, snapshots: Snapshots, job: int, plan: Plan) -> tuple[float, float]:
        """By when it should have started, with chance one half and nine tenths."""
        world, load = snapshots.world, self._loaded(snapshots, plan)
        now, policy = world.now, world.policy
        if job in load.starts:
            return now, now
        if job in load.claimed:
            return now + min(ANSWER_S, policy.grace_s), now + policy.grace_s
        opens = self._opens(snapshots, job)
        guessed = self._guess(snapshots, job, load)
        buckets = _buckets(snapshots, job)
        self._outcomes.pass_time(now)
        told = self._outcomes.told(now, buckets, guessed, PROTECTED * policy.protect_after_s)
        guess = Guess(buckets[0], opens, guessed, tuple(min(wait, HORIZON_S) for wait in told))
        self._outcomes.remember(job, buckets, guess)
        return opens + guess.told_s[0], opens + guess.told_s[1]

    def decided(self, snapshots: Snapshots, plan: Plan) -> None:
        """Some of those that were guessed about start now."""
        for start in plan.starts:
            self._outcomes.started(start.job, snapshots.world.now)

    def _guess(self, snapshots: Snapshots, job: int, load: _Load) -> float:
        """How long it should wait once nothing but others is in its way."""
        world = snapshots.world
        promised = load.promised.get(job)
        if promised is not None:
            return HOUR_S + promised - world.now
        forecast_s = snapshots.lineup.job(job).forecast_s or 0.0
        ahead = load.before(forecast_s) - world.asks[job].gpus * forecast_s
        return HOUR_S + max(0.0, ahead) / max(1, world.site.total)

    def _opens(self, snapshots: Snapshots, job: int) -> float:
        """When what it follows should have finished, and its own time has come."""
        world = snapshots.world
        ends = [self._ends(snapshots, first) for first in snapshots.lineup.unfinished(world, job)]
        return max(world.now, world.asks[job].not_before_s, *ends)

    def _ends(self, snapshots: Snapshots, first: int) -> float:
        run, guess, now = (
            snapshots.holders.running.get(first),
            self._outcomes.guess(first),
            snapshots.world.now,
        )
        if run is not None:
            return run.expected_end or now
        if guess is None or first not in snapshots.lineup:
            return now + HOUR_S
        return max(now, guess.at + guess.told_s[0]) + (snapshots.lineup.job(first).forecast_s or HOUR_S)

    def _loaded(self, snapshots: Snapshots, plan: Plan) -> _Load:
        if self._load is None or self._load.plan is not plan:
            self._load = _Load(snapshots, plan)
        return self._load


def _buckets(snapshots: Snapshots, job: int) -> tuple[Bucket, ...]:
    """Jobs of one size wait alike; those behind other jobs are another story."""
    ask = snapshots.world.asks[job]
    if ask.after:
        return ("after",), ()
    return (ask.tier.word, size_class(ask.gpus)), (size_class(ask.gpus),), ()
