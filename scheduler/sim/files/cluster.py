"""CLUSTER.json: the nodes, where they stand, and the teams that share them."""

from collections.abc import Iterable

from scheduler.sim.files import chains, tracked, values
from scheduler.sim.files.tracked import Path
from scheduler.sim.files.values import Amiss, maybe, needed
from scheduler.sim.workload import Cluster, Crew, Machine, Share

MOST_GPUS = 4096  # of one node; more is a slip of the pen


def read_cluster(text: str, name: str) -> Cluster:
    """The nodes and teams of a file; fields that are not known are ignored."""
    try:
        return _cluster(tracked.read(text, name))
    except Amiss as why:
        raise tracked.fault(text, name, why.path, str(why)) from why


def _cluster(value: object) -> Cluster:
    whole = values.mapping(value, ())
    nodes = needed(whole, (), "nodes", values.sequence)
    if not nodes:
        raise Amiss(("nodes",), "the list is empty; a replay needs at least one node")
    machines = tuple(_machine(node, ("nodes", at)) for at, node in enumerate(nodes))
    _each_once((machine.name for machine in machines), "nodes")
    teams = maybe(whole, (), "teams", values.sequence)
    return Cluster(machines, None if teams is None else _crews(teams))


def _machine(value: object, path: Path) -> Machine:
    node = values.mapping(value, path)
    name = needed(node, path, "name", values.name)
    gpus = needed(node, path, "gpus", _gpus)
    return Machine(
        name=name,
        pool=maybe(node, path, "pool", values.label) or "default",
        gpu_type=needed(node, path, "gpu_type", _gpu_type),
        gpus=gpus,
        nvlink_domain=maybe(node, path, "nvlink_domain", values.count) or gpus,
        rack=maybe(node, path, "rack", values.label) or "",
        block=maybe(node, path, "block", values.label) or "",
        cpus=maybe(node, path, "cpus", values.amount),
        memory_gib=maybe(node, path, "memory_gib", values.amount),
        spot=maybe(node, path, "spot", values.switch) or False,
        gpu_memory_gib=maybe(node, path, "gpu_memory_gib", values.amount),
        features=maybe(node, path, "features", values.names) or frozenset(),
    )


def _gpus(value: object, path: Path) -> int:
    gpus = values.count(value, path)
    if gpus > MOST_GPUS:
        raise Amiss(path, f"{gpus} GPUs in one node are too many; the most is {MOST_GPUS}")
    return gpus


def _gpu_type(value: object, path: Path) -> str:
    found = values.name(value, path)
    if "|" in found:
        raise Amiss(path, f"{found} has a | in it, which separates types in the jobs file; take it out")
    return found


def _crews(teams: list[object]) -> tuple[Crew, ...]:
    crews = tuple(_crew(team, ("teams", at)) for at, team in enumerate(teams))
    _each_once((crew.name for crew in crews), "teams")
    row_of = {crew.name: at for at, crew in enumerate(crews)}
    for at, crew in enumerate(crews):
        if crew.parent is not None and crew.parent not in row_of:
            sentence = f"there is no team {crew.parent}; name a team of this file, or null for the top"
            raise Amiss(("teams", at, "parent"), sentence)
    if circle := chains.cycle({crew.name: (crew.parent,) for crew in crews if crew.parent is not None}):
        way = " -> ".join(chains.shortened(circle))
        raise Amiss(
            ("teams", row_of[circle[0]], "parent"),
            f"these teams stand above each other: {way}; break the circle",
        )
    return crews


def _crew(value: object, path: Path) -> Crew:
    team = values.mapping(value, path)
    weight = maybe(team, path, "weight", values.amount)
    quota = maybe(team, path, "quota", values.mapping) or {}
    return Crew(
        name=needed(team, path, "name", values.name),
        parent=maybe(team, path, "parent", values.name),
        weight=1.0 if weight is None else weight,
        quota={gpu_type: _share(share, (*path, "quota", gpu_type)) for gpu_type, share in quota.items()},
    )


def _share(value: object, path: Path) -> Share:
    share = values.mapping(value, path)
    return Share(
        nominal=needed(share, path, "nominal", values.whole),
        borrow=maybe(share, path, "borrow", values.whole),
        lend=maybe(share, path, "lend", values.whole),
    )


def _each_once(names: Iterable[str], where: str) -> None:
    rows: dict[str, int] = {}
    for at, name in enumerate(names):
        if name in rows:
            sentence = f"{name} is already the name of number {rows[name] + 1} of {where}; give each its own"
            raise Amiss((where, at, "name"), sentence)
        rows[name] = at
