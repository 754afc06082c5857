"""Published traces, turned into what a replay takes: `convert` is the door to all of them."""

from scheduler.sim.traces.conversion import ROLES, Converted, Text, convert
from scheduler.sim.traces.options import BLOCKS, BadOption, Options
from scheduler.sim.traces.uniform import uniform

__all__ = ["BLOCKS", "ROLES", "BadOption", "Converted", "Options", "Text", "convert", "uniform"]
