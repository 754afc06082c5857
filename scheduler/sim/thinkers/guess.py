"""When a job should start under a plain policy: the work ahead of it, corrected by how such guesses turned out."""

from bisect import insort
from collections import deque

from scheduler.sim.thinker import HORIZON_S
from scheduler.sim.workload import Ask
from scheduler.sim.world import Run, World

REMEMBERED = 256  # guesses whose outcome is known
TEACHES = 20  # fewer outcomes than this teach nothing
UNKNOWN_S = 3600.0  # how long a job without a limit runs, before any has ended
SHORTEST_S = 60.0  # a guessed wait is at least this, so that a ratio to it means something


class Guess:
    """Work ahead over capacity is a first guess; true waits over first guesses make two honest times of it."""

    def __init__(self) -> None:
        self._first: dict[int, float] = {}  # by job that waits for its first start: the wait guessed first
        self._ratios: dict[
            bool, deque[float]
        ] = {}  # true wait over first guess, by whether it is a large job
        self._lengths: list[float] = []  # of jobs that are over, sorted
        self._seen = 0  # how much of the world's history is in them

    def times(self, world: World, job: int) -> tuple[float, float]:
        """By when it should start with chance one half and nine tenths, if it cannot start now."""
        ask = world.asks[job]
        first = max(SHORTEST_S, self._work_ahead(world, ask) / self._capacity(world, ask))
        self._first[job] = first
        ratios = sorted(self._ratios.get(_large(world, ask), ()))
        half, most = (1.0, 2.0) if len(ratios) < TEACHES else (_at(ratios, 0.5), _at(ratios, 0.9))
        opens = max(world.now, ask.not_before_s)
        return opens + min(half * first, HORIZON_S), opens + min(most * first, HORIZON_S)

    def started(self, world: World, job: int) -> None:
        """A job starts now: if it is its first start, that is what the guess was about."""
        first = self._first.pop(job, None)
        if first is not None:
            ask = world.asks[job]
            waited = world.now - max(ask.submit_s, ask.not_before_s)
            self._ratios.setdefault(_large(world, ask), deque(maxlen=REMEMBERED)).append(waited / first)

    def _work_ahead(self, world: World, ask: Ask) -> float:
        """GPU-seconds that run or wait ahead of it, in its queue."""
        now, typical = world.now, self._typical(world)
        work = sum(
            len(run.cells) * _left(run, typical, now)
            for job, run in world.running.items()
            if ask.pool in ("", world.asks[job].pool)
        )
        queue = world.line.by_pool.get(ask.pool, ())
        return work + sum(world.asks[job].gpus * (world.asks[job].limit_s or typical) for job in queue)

    def _capacity(self, world: World, ask: Ask) -> int:
        return max(1, int(world.site.size[world.site.allowed(ask)].sum()))

    def _typical(self, world: World) -> float:
        """The median length of the jobs that are over."""
        for past in world.history[self._seen :]:
            insort(self._lengths, past.useful_s)
        self._seen = len(world.history)
        return _at(self._lengths, 0.5) if len(self._lengths) >= TEACHES else UNKNOWN_S


def _left(run: Run, typical: float, now: float) -> float:
    """How much longer it holds its GPUs: by its limit, else as long again as is usual."""
    return typical if run.limit_s is None else max(0.0, run.ends_by - now)


def _large(world: World, ask: Ask) -> bool:
    return ask.gpus > world.site.width


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
