"""What a person may choose when a trace becomes a replay."""

from dataclasses import dataclass, replace
from math import isfinite

from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.cells import MOST_SECONDS
from scheduler.sim.files.cluster import MOST_GPUS
from scheduler.sim.traces.record import moment
from scheduler.sim.workload import Ask

BLOCKS = ("DSW", "PSW")
LOAD = 0.8
MOST_NODES = 1_000_000  # of one cluster; more is a slip of the pen


class BadOption(ValueError):
    """A choice that cannot be: which option, and what to choose instead."""

    def __init__(self, option: str, sentence: str) -> None:
        super().__init__(f"{option}: {sentence}")
        self.option = option
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Options:
    """Each with the value that the published comparisons take."""

    nodes: int = 0  # 0 = what the trace names, or else as many as `load` calls for
    gpus_per_node: int = 8
    load: float | None = (
        None  # None = LOAD, or where the published comparisons take a number of nodes, that one
    )
    teams: bool = True  # quotas by virtual cluster, where the trace has them; else no limits at all
    limits: bool = False  # give each job its exact duration as its limit
    checkpoint_s: float | None = None  # let each job write checkpoints so often
    hosts: int = 144  # of a file of switches, in whole switches
    block: str = "DSW"  # the switches that a block stands for
    since: str = ""  # submissions from this moment, such as 2020-09-01, where the trace has dates
    until: str = ""  # submissions before this moment
    first_day: float = 100.0  # of a file of faults
    last_day: float = 125.0

    def __post_init__(self) -> None:
        self._check_sizes()
        if self.checkpoint_s is not None and not 0 < self.checkpoint_s <= MOST_SECONDS:
            raise BadOption("checkpoint_s", "write a number of seconds above 0, or leave it out")
        if self.block not in BLOCKS:
            raise BadOption("block", f"write {' or '.join(BLOCKS)}")
        if not 0 <= self.first_day <= self.last_day:
            raise BadOption("last_day", "the last day must not lie before the first, nor the first before 0")
        since, until = self.window()
        if since is not None and until is not None and until <= since:
            raise BadOption("until", f"{self.until} does not lie after {self.since}")

    def _check_sizes(self) -> None:
        if self.load is not None and not (isfinite(self.load) and self.load > 0):
            raise BadOption("load", "write a number above 0, such as 0.8")
        if not 0 <= self.nodes <= MOST_NODES:
            raise BadOption("nodes", f"write a number from 1 to {MOST_NODES:,}, or leave it out")
        if not 1 <= self.gpus_per_node <= MOST_GPUS:
            raise BadOption("gpus_per_node", f"write a number from 1 to {MOST_GPUS:,}")
        if self.hosts < 1:
            raise BadOption("hosts", "write a number above 0")

    def window(self) -> tuple[float | None, float | None]:
        """From when, and until before when, jobs were submitted."""
        return _moment("since", self.since), _moment("until", self.until)

    def of(self, ask: Ask) -> Ask:
        """A job of the trace, as these options want it."""
        if not self.limits and self.checkpoint_s is None:
            return ask
        # A limit must be above zero, even for work that takes no time.
        limit_s = max(ask.duration_s, 1.0) if self.limits else ask.limit_s
        return replace(ask, limit_s=limit_s, checkpoint_s=self.checkpoint_s)


def _moment(option: str, written: str) -> float | None:
    try:
        return moment(written) if written else None
    except Wrong as why:
        raise BadOption(option, str(why)) from why
