"""The policies that can be replayed, by name."""

from collections.abc import Callable, Mapping

from scheduler.sim.thinker import Thinker
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.thinkers.easy import Easy
from scheduler.sim.thinkers.fifo import Fifo

THINKERS: Mapping[str, Callable[[], Thinker]] = {"default": Berth, "fifo": Fifo, "easy": Easy}
