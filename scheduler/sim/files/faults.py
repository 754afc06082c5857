"""FAULTS.csv: when which node, or which of its GPUs, goes down, comes up or drains."""

from collections.abc import Mapping

from scheduler.sim.files import cells
from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.workload import Cluster, Fault

EVENTS = ("down", "up", "drain")
NEEDED = ("t_s", "node", "event")


def read_faults(text: str, name: str, cluster: Cluster) -> tuple[Fault, ...]:
    """The faults of a file, in order of time; those of one moment stay in the file's order."""
    gpus_of = {machine.name: machine.gpus for machine in cluster.machines}

    def make(values: Values, line: int) -> Fault:
        return _checked(Fault(**values, line=line), gpus_of)

    faults = entries(text, name, make, columns=_READ, needed=NEEDED)
    return tuple(sorted(faults, key=lambda fault: fault.t_s))


def _checked(fault: Fault, gpus_of: Mapping[str, int]) -> Fault:
    if fault.node not in gpus_of:
        raise Wrong(f"the cluster has no node {fault.node}; write a name from the cluster file", "node")
    if fault.gpus and fault.gpus[-1] >= gpus_of[fault.node]:
        last = gpus_of[fault.node] - 1
        raise Wrong(f"{fault.node} has no GPU {fault.gpus[-1]}; its indices go from 0 to {last}", "gpus")
    return fault


def _event(cell: str) -> str:
    if cell not in EVENTS:
        raise Wrong(f"{cells.shown(cell)} is no event; write {', '.join(EVENTS[:-1])} or {EVENTS[-1]}")
    return cell


_READ: Columns = {
    "t_s": cells.seconds,
    "node": cells.name,
    "event": _event,
    "gpus": cells.indices,
}
