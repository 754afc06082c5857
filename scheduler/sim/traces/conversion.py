"""From the files of a trace to what a replay takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scheduler.sim.traces import helios, lingjun, philly, philly_log, stepfun
from scheduler.sim.traces.options import LOAD, MOST_NODES, BadOption, Options
from scheduler.sim.traces.record import Record
from scheduler.sim.traces.shares import crews, gpu_seconds, nodes_for, split
from scheduler.sim.traces.uniform import GPU_TYPE, uniform
from scheduler.sim.workload import Ask, Cluster, Fault


class Text(NamedTuple):
    """A file of a trace: what stands in it, and its name, for errors."""

    text: str
    name: str


Texts = Mapping[str, Text]  # by the role a file plays
Reader = Callable[[Texts, Options], tuple[Record, Cluster]]
LINGJUN_NODES = 128  # load 0.80, as the known results have it


@dataclass(frozen=True, slots=True)
class Converted:
    """What a replay takes, and how many jobs of the trace were left out for which reason."""

    cluster: Cluster
    asks: tuple[Ask, ...]
    faults: tuple[Fault, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


def convert(kind: str, texts: Texts, options: Options | None = None) -> Converted:
    """A trace of this kind; `texts` holds its jobs, and may hold what else ROLES names for it."""
    options = options or Options()
    _check(kind, texts)
    record, cluster = _READERS[kind](texts, options)
    return Converted(
        cluster, tuple(map(options.of, record.asks)), _faults(texts, options, cluster), record.left_out
    )


def _check(kind: str, texts: Texts) -> None:
    if kind not in ROLES:
        raise BadOption("trace", f"there is no trace called {kind}; the traces are {', '.join(ROLES)}")
    for role in texts:
        if role not in ROLES[kind]:
            raise BadOption(role, f"{kind} has no such file; its files are {', '.join(ROLES[kind])}")
    if "jobs" not in texts:
        raise BadOption("jobs", f"name the file with the jobs of {kind}")


def _faults(texts: Texts, options: Options, cluster: Cluster) -> tuple[Fault, ...]:
    if "faults" not in texts:
        return ()
    names = sorted(machine.name for machine in cluster.machines)
    first, last = options.first_day, options.last_day
    return stepfun.read_faults(*texts["faults"], names, first_day=first, last_day=last)


def _lingjun(texts: Texts, options: Options) -> tuple[Record, Cluster]:
    record = lingjun.read_jobs(*texts["jobs"])
    if "topo" not in texts:
        known = options if options.nodes or options.load else replace(options, nodes=LINGJUN_NODES)
        return record, _equal(record, known)
    hosts = lingjun.read_topo(*texts["topo"], block=options.block, gpus=options.gpus_per_node)
    return record, lingjun.whole_switches(hosts, options.hosts)


def _philly(texts: Texts, options: Options) -> tuple[Record, Cluster]:
    record = philly.read_jobs(*texts["jobs"])
    return record, _shared(record, _equal(record, options), options)


def _philly_log(texts: Texts, options: Options) -> tuple[Record, Cluster]:
    since, until = options.window()
    record = philly_log.read_jobs(*texts["jobs"], since=since, until=until)
    machines = (
        philly_log.read_machines(*texts["machines"]) if "machines" in texts else _equal(record, options)
    )
    return record, _shared(record, machines, options)


def _helios(texts: Texts, options: Options) -> tuple[Record, Cluster]:
    since, until = options.window()
    record = helios.read_jobs(*texts["jobs"], since=since, until=until)
    if "sizes" not in texts:
        return record, _shared(record, _equal(record, options), options)
    sizes = helios.read_sizes(*texts["sizes"], day=options.since[:10])
    told = options.nodes or -(-sum(sizes.values()) // options.gpus_per_node)
    cluster = _equal(record, replace(options, nodes=told))
    return record, replace(cluster, crews=crews(sizes, GPU_TYPE) if options.teams else None)


def _equal(record: Record, options: Options) -> Cluster:
    """Equal nodes, as many as are told or as the load calls for."""
    nodes = options.nodes or nodes_for(record.asks, options.load or LOAD, options.gpus_per_node)
    if nodes > MOST_NODES:
        raise BadOption("load", f"the jobs call for {nodes:,} nodes; the most is {MOST_NODES:,}")
    return uniform(nodes, gpus=options.gpus_per_node)


def _shared(record: Record, cluster: Cluster, options: Options) -> Cluster:
    """The same cluster, with a quota for each team by its share of GPU time."""
    if not options.teams:
        return cluster
    return replace(cluster, crews=crews(split(cluster.gpus, gpu_seconds(record.asks)), GPU_TYPE))


_READERS: Mapping[str, Reader] = {
    "lingjun": _lingjun,
    "philly": _philly,
    "philly-log": _philly_log,
    "helios": _helios,
}
# Which files each trace takes; only the jobs must be there. `faults` are StepFun's, on any cluster.
ROLES: Mapping[str, tuple[str, ...]] = {
    "lingjun": ("jobs", "topo", "faults"),
    "philly": ("jobs", "faults"),
    "philly-log": ("jobs", "machines", "faults"),
    "helios": ("jobs", "sizes", "faults"),
}
