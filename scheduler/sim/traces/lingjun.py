"""Alibaba Lingjun 2023 (Cao et al., SIGCOMM 2024): gangs of two weeks, and the switches of their cluster."""

from collections import Counter
from collections.abc import Iterator

from scheduler.sim.files import cells
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.traces.record import Record, sifted
from scheduler.sim.traces.roll import Roll
from scheduler.sim.traces.uniform import GPU_TYPE
from scheduler.sim.workload import Ask, Cluster, Machine

JOBS: Columns = {
    "job_id": cells.name,
    "submit_s": cells.seconds,
    "gpus": cells.count,
    "duration_s": cells.seconds,
}
TOPO: Columns = dict.fromkeys(("host", "DSW", "PSW", "ASW"), cells.name)


def read_jobs(text: str, name: str) -> Record:
    """jobs.csv: job_id, submit_s, gpus, duration_s."""
    return sifted(entries(text, name, _ask, columns=JOBS, needed=JOBS))


def read_topo(text: str, name: str, *, block: str = "DSW", gpus: int = 8) -> Cluster:
    """topo.csv: every host; its rack is its top-of-rack switch, its block an aggregation or a core switch."""
    roll = Roll("host")

    def make(values: Values, line: int) -> Machine:
        # Switches of different aggregation switches share names; a rack must stand in one block.
        rack = values["ASW"] if block == "DSW" else f"{values['PSW']}/{values['ASW']}"
        host = Machine(values["host"], "default", GPU_TYPE, gpus, gpus, rack=rack, block=values[block])
        return roll.enter(host, line)

    return roll.cluster(entries(text, name, make, columns=TOPO, needed=TOPO), name)


def whole_switches(cluster: Cluster, hosts: int = 144) -> Cluster:
    """Whole racks, the largest and the smallest in turn, until there are at least so many hosts."""
    chosen: set[str] = set()
    found = 0
    sizes = Counter(machine.rack for machine in cluster.machines)
    for rack in _outside_in(sorted(sizes, key=lambda rack: (-sizes[rack], len(rack), rack))):
        if found >= hosts:
            break
        chosen.add(rack)
        found += sizes[rack]
    return Cluster(tuple(machine for machine in cluster.machines if machine.rack in chosen), cluster.crews)


def _outside_in(ordered: list[str]) -> Iterator[str]:
    while ordered:
        yield ordered.pop(0)
        if ordered:
            yield ordered.pop()


def _ask(values: Values, line: int) -> Ask:
    return Ask(values["job_id"], values["submit_s"], values["duration_s"], values["gpus"], line=line)
