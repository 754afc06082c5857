"""The machines that a file of a trace lists: at least one, and each name once."""

from collections.abc import Iterable

from scheduler.sim.files.bad import BadFile, Wrong
from scheduler.sim.workload import Cluster, Machine


class Roll:
    """Who has been called so far."""

    def __init__(self, column: str) -> None:
        self.column = column  # the one that holds the names
        self._line_of: dict[str, int] = {}

    def enter(self, machine: Machine, line: int) -> Machine:
        """One more machine; refuses a name that was there before."""
        if machine.name in self._line_of:
            before = self._line_of[machine.name]
            raise Wrong(
                f"{machine.name} already stands in line {before}; name each machine once", self.column
            )
        self._line_of[machine.name] = line
        return machine

    def cluster(self, machines: Iterable[Machine], name: str) -> Cluster:
        """All of them."""
        found = tuple(machines)
        if not found:
            raise BadFile(name, 2, self.column, "the file lists no machine; a replay needs at least one")
        return Cluster(found)
