"""First come first served and EASY, written down a second time: slow, plain, for equal nodes and jobs that only count GPUs."""

from collections.abc import Iterable
from math import inf

from scheduler.sim.workload import Ask

Free = tuple[int, ...]  # free GPUs of each node
Take = dict[int, int]  # node: GPUs


def put(free: Free, gpus: int, size: int) -> Take | None:
    """ "Up to one node goes to the fullest node that still fits, a larger one on whole free nodes, …" """
    if gpus <= size:
        fits = [(left, node) for node, left in enumerate(free) if left >= gpus]
        return {min(fits)[1]: gpus} if fits else None
    whole, rest = divmod(gpus, size)
    clean = [node for node, left in enumerate(free) if left == size][:whole]
    take = dict.fromkeys(clean, size)
    if rest and len(clean) == whole:
        others = [(-left, node) for node, left in enumerate(free) if node not in take and left >= rest]
        if not others:
            return None
        take[min(others)[1]] = rest
    return take if sum(take.values()) == gpus else None


def less(free: Free, take: Take) -> Free:
    return tuple(left - take.get(node, 0) for node, left in enumerate(free))


def more(free: Free, takes: Iterable[Take]) -> Free:
    back = list(free)
    for take in takes:
        for node, gpus in take.items():
            back[node] += gpus
    return tuple(back)


class Slow:
    """The whole simulation: a list of what waits, a list of what runs, everything looked at anew each time."""

    def __init__(self, asks: list[Ask], count: int, size: int, *, backfill: bool) -> None:
        self.size, self.backfill = size, backfill
        self.coming = sorted(asks, key=lambda ask: ask.submit_s)
        self.waiting: list[Ask] = []
        self.running: list[tuple[float, float, Take]] = []  # true end, planned end, what it holds
        self.free: Free = (size,) * count
        self.starts: dict[str, float] = {}

    def run(self) -> dict[str, float]:
        while self.coming or self.running:
            now = min([ask.submit_s for ask in self.coming[:1]] + [end for end, _, _ in self.running])
            self.free = more(self.free, [take for end, _, take in self.running if end <= now])
            self.running = [run for run in self.running if run[0] > now]
            self.waiting += [ask for ask in self.coming if ask.submit_s <= now]
            self.coming = [ask for ask in self.coming if ask.submit_s > now]
            self._think(now)
        return self.starts

    def _think(self, now: float) -> None:
        while self.waiting and (take := put(self.free, self.waiting[0].gpus, self.size)) is not None:
            self._start(self.waiting[0], take, now)
        if not self.backfill or len(self.waiting) < 2:
            return
        head, shadow = self.waiting[0], self._shadow()
        for ask in self.waiting[1:]:
            take = put(self.free, ask.gpus, self.size)
            if take is not None and self._harmless(ask, take, head, shadow=shadow, now=now):
                self._start(ask, take, now)

    def _shadow(self) -> float:
        for moment in sorted(planned for _, planned, _ in self.running if planned < inf):
            if put(self._then(moment), self.waiting[0].gpus, self.size) is not None:
                return moment
        return inf

    def _then(self, moment: float) -> Free:
        return more(
            self.free, [take for _, planned, take in self.running if planned <= moment and planned < inf]
        )

    def _harmless(self, ask: Ask, take: Take, head: Ask, *, shadow: float, now: float) -> bool:
        if ask.limit_s is not None and now + ask.limit_s <= shadow:
            return True
        return put(less(self._then(shadow), take), head.gpus, self.size) is not None

    def _start(self, ask: Ask, take: Take, now: float) -> None:
        self.waiting.remove(ask)
        self.free = less(self.free, take)
        self.starts[ask.job] = now
        limit = inf if ask.limit_s is None else ask.limit_s
        self.running.append((now + min(ask.duration_s, limit), now + limit, take))
