"""Why a job could never run here, in one sentence."""

import numpy as np

from scheduler.sim.site import Site
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.workload import Ask


def sentence(site: Site, ask: Ask) -> str:
    """What keeps it out of the empty cluster; where no single thing does, all of them together."""
    together = f"needs {_gpus(ask.min_gpus)} of one type; no set of nodes has so many that it accepts"
    return obstacle(site, ask) or together


def obstacle(site: Site, ask: Ask) -> str:
    """The first thing that is too small for the job, or missing; "" = nothing is by itself."""
    for wrong in (
        _not_there,
        _too_many_in_a_group,
        _too_many_in_a_node,
        _too_many_nodes,
        _too_many_in_a_domain,
    ):
        if why := wrong(site, ask):
            return why
    return ""


def _not_there(site: Site, ask: Ask) -> str:
    if ask.pool and all(machine.pool != ask.pool for machine in site.machines):
        return f"needs the pool {ask.pool}; there is none of this name"
    if ask.gpu_types and not set(ask.gpu_types) & set(site.types):
        return f"needs {' or '.join(ask.gpu_types)} GPUs; there are {', '.join(sorted(set(site.types)))}"
    missing = sorted(ask.features - frozenset().union(*(machine.features for machine in site.machines)))
    if missing:
        return f"needs nodes with {', '.join(missing)}; there are none"
    most = max((machine.gpu_memory_gib or 0.0 for machine in site.machines), default=0.0)
    if not site.allowed(ask).any():
        if ask.gpu_memory_gib > most:
            return f"needs GPUs with {ask.gpu_memory_gib:g} GiB of memory; the largest have {most:g} GiB"
        return "no node has the pool, the GPU type, the memory and the features that it needs together"
    return ""


def _too_many_in_a_group(site: Site, ask: Ask) -> str:
    rows = np.flatnonzero(site.allowed(ask)).tolist()
    most = max(min(site.machines[row].nvlink_domain, site.machines[row].gpus) for row in rows)
    if ask.tp > most:
        return f"needs {_gpus(ask.tp)} in one NVLink domain; the largest has {most}"
    return ""


def _too_many_in_a_node(site: Site, ask: Ask) -> str:
    packed = ask.required and ask.level == "node"
    if packed and (ask.nodes or 1) > 1:
        return f"asks for {ask.nodes} nodes and to sit in one node; leave out one of the two"
    in_one = ask.min_gpus if packed else ask.gpus_per_node or 1
    allowed = site.allowed(ask)
    most = int(site.size[allowed].max())
    if in_one > most:
        return f"needs {_gpus(in_one)} in one node; the largest node has {most}"
    room = int(Scratch.of_empty(site).room(ask)[allowed].max())
    if in_one > room:
        return f"needs {_gpus(in_one)} in one node with CPUs, memory and NVLink; the largest node has them for {room}"
    return ""


def _too_many_nodes(site: Site, ask: Ask) -> str:
    if ask.nodes is None or ask.gpus_per_node is None:
        return ""
    fit = site.allowed(ask) & (Scratch.of_empty(site).room(ask) >= ask.gpus_per_node)
    most = max((int((fit & _of_type(site, kind)).sum()) for kind in sorted(set(site.types))), default=0)
    nodes = ask.min_gpus // ask.gpus_per_node
    if nodes > most:
        return f"needs {nodes} nodes with {_gpus(ask.gpus_per_node)} each; there are {most}"
    return ""


def _too_many_in_a_domain(site: Site, ask: Ask) -> str:
    where, of = "in the cluster", np.zeros(len(site.machines), dtype=np.int64)
    if ask.required and ask.level in ("rack", "block"):
        where, of = f"in one {ask.level}", site.domains[ask.level]
    room = np.where(site.allowed(ask), Scratch.of_empty(site).room(ask), 0)
    kinds = sorted(set(site.types))
    most = max(int(np.bincount(of, weights=room * _of_type(site, kind)).max()) for kind in kinds)
    if ask.min_gpus > most:
        return f"needs {_gpus(ask.min_gpus)} {where}; there are at most {most} of one type that it accepts"
    return ""


def _of_type(site: Site, kind: str) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.array([each == kind for each in site.types])


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"
