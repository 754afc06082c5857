"""Whether a gang of a given size has a place among given GPUs: enough to prove that one exists."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import floor, inf

from tests.sim.checker.gang import domain_key, may_not
from tests.sim.checker.reading import Job, Node

TOLERANCE = 1e-6
Offers = Mapping[str, Sequence[int]]  # the GPU indices that each node could give


def has_place(nodes: Mapping[str, Node], job: Job, offers: Offers) -> bool:
    """Whether the smallest gang that the job accepts fits on these GPUs, with its nodes' CPUs and memory idle."""
    groups: dict[tuple[str, object], list[tuple[int, bool]]] = defaultdict(list)
    for name, gpus in offers.items():
        node = nodes[name]
        if may_not(job, node):
            continue
        room = room_on(node, job, gpus)
        if room:
            groups[node.gpu_type, domain_key(node, job.required)].append((room, node.spot))
    return any(_holds(job, rooms) for rooms in groups.values())


def room_on(node: Node, job: Job, gpus: Iterable[int]) -> int:
    """How many of these GPUs whole groups of tp can use, as far as the node's CPUs and memory go."""
    grouped = sum(count // job.tp * job.tp for count in node.domain_counts(gpus).values())
    for has, each in ((node.cpus, job.cpus_per_gpu), (node.memory_gib, job.memory_gib_per_gpu)):
        if each > 0 and has < inf:
            grouped = min(grouped, floor(has / each + TOLERANCE) // job.tp * job.tp)
    return grouped


def _holds(job: Job, rooms: list[tuple[int, bool]]) -> bool:
    if job.shape is not None:
        wanted, each = job.shape
        if each % job.tp:
            return False
        seats = [(1, spot) for room, spot in rooms if room >= each]
        return _with_spot(seats, wanted, floor(job.spot_share * wanted + TOLERANCE))
    wanted = -(-job.min_gpus // job.tp) * job.tp
    if wanted > job.gpus:
        return False
    on_spot = floor(job.spot_share * wanted + TOLERANCE) // job.tp * job.tp
    return _with_spot(rooms, wanted, on_spot)


def _with_spot(rooms: list[tuple[int, bool]], wanted: int, on_spot: int) -> bool:
    steady = sum(room for room, spot in rooms if not spot)
    return steady + min(on_spot, sum(room for room, spot in rooms if spot)) >= wanted
