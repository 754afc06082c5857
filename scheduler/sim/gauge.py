"""How broken what is free was, hour by hour: the largest gang that could start, and what the usual jobs cannot use."""

from collections import Counter

from scheduler.core.board import Board
from scheduler.core.fragment import Largest, fragmentation, largest_gangs
from scheduler.core.layout import Layout
from scheduler.core.model import Request
from scheduler.sim.thinkers.terrain import healthy
from scheduler.sim.thinkers.wording import request_of
from scheduler.sim.world import World

EVERY_S = 3600.0
RECENT = 256  # the jobs submitted last are the mix that comes next


class Gauge:
    """Looks once for every full hour in which something ran or waited, whatever the policy."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._layout: Layout | None = None
        self._looks = 0
        self._largest = [0] * len(Largest._fields)
        self._free = 0
        self._wasted = 0.0

    def pass_time(self, until: float) -> None:
        """Nothing happens until then, so each full hour on the way looks the same."""
        world = self._world
        looks = int(until // EVERY_S) - int(world.now // EVERY_S)
        if looks and (world.running or world.line):
            self._look(looks)

    def plain(self) -> dict[str, object]:
        """For the report; None where there was not one full hour."""
        means = {
            level: gpus / self._looks if self._looks else None
            for level, gpus in zip(Largest._fields, self._largest, strict=True)
        }
        return {
            "largest_gang_gpus": means,
            "mix_fragmentation": self._wasted / self._free if self._free else None,
        }

    def _look(self, looks: int) -> None:
        world = self._world
        self._layout = self._layout or Layout(healthy(world.site))
        free = world.floor.idle
        self._looks += looks
        if not free:
            return
        board = Board(self._layout, world.floor.free)
        found = largest_gangs(board, policy=world.policy).values()
        for level, gpus in enumerate(map(max, zip(*found, strict=True))):
            self._largest[level] += looks * gpus
        self._free += looks * free
        self._wasted += looks * free * fragmentation(board, self._mix(), policy=world.policy)

    def _mix(self) -> list[tuple[Request, float]]:
        world, come = self._world, self._world.come
        recent = Counter(request_of(ask) for ask in world.asks[max(0, come - RECENT) : come])
        return [(request, float(often)) for request, often in recent.items()]
