"""The rules of placement once more, slowly: every set of slots is tried. Nothing here comes from the planner."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from scheduler.core.model import Node, Request, Seat, Snapshot, Tier

PATH = {"cluster": 1, "block": 2, "rack": 3, "node": 4}


@dataclass(frozen=True)
class Ask:
    """A request as a job of some tier asks it."""

    request: Request
    tier: Tier = Tier.STANDARD
    gpus: int = 0  # an elastic size; 0 = all
    relaxed: bool = True
    until: float = 0.0  # when it ends; nodes that close before are not allowed

    @property
    def size(self) -> int:
        return self.gpus or self.request.gpus

    @property
    def level(self) -> str:
        """The level that all seats must share."""
        binding = self.request.level and (self.request.required or not self.relaxed)
        return self.request.level if binding else "cluster"


def path(node: Node, level: str) -> tuple[object, ...]:
    return (node.cluster, node.block, node.rack, node.id)[: PATH[level]]


def level_of(nodes: Iterable[Node]) -> str:
    """The narrowest level that holds them all."""
    nodes = list(nodes)
    return next(level for level in reversed(PATH) if len({path(node, level) for node in nodes}) == 1)


def allowed(snap: Snapshot, ask: Ask, node: Node) -> bool:
    """Whether this node may serve the request at all."""
    request, production = ask.request, ask.tier is Tier.PRODUCTION
    slices = bool(request.gpu_types) and not production and node.pool in snap.policy.sharing_pools
    return (
        node.usable
        and (not request.gpu_types or node.gpu_type in request.gpu_types)
        and request.pool in ("", node.pool)
        and request.features <= node.features
        and (node.gpu_memory_gib is None or node.gpu_memory_gib >= request.gpu_memory_gib)
        and (production or node.pool not in snap.policy.production_pools)
        and (not node.sliced or slices)
        and not closes(snap, node.id, ask.until)
    )


def closes(snap: Snapshot, node: int, until: float) -> bool:
    """Whether maintenance is on there, or begins before then."""
    windows = (window for window in snap.windows if node in window.nodes)
    return any(window.begins < until and window.ends > snap.taken_at for window in windows)


def sizes(snap: Snapshot, ask: Ask, row: int) -> set[int]:
    """How many GPUs the node can give this request: whole groups inside NVLink domains, and what goes with them."""
    node, request = snap.nodes[row], ask.request
    if not allowed(snap, ask, node):
        return {0}
    slots = [slot for slot, link in enumerate(node.nvlink) if link >= 0 and snap.free[row, slot]]
    able = {0}
    for many in range(1, len(slots) + 1):
        for some in combinations(slots, many):
            counts = Counter(node.nvlink[slot] for slot in some)
            if all(count % request.tp == 0 for count in counts.values()) and enough(snap, ask, node, many):
                able.add(many)
    return able


def enough(snap: Snapshot, ask: Ask, node: Node, gpus: int) -> bool:
    """Whether CPUs, memory and scratch are left for so many GPUs."""
    request = ask.request
    for have, name in (
        (node.cpus, "cpus"),
        (node.memory_gib, "memory_gib"),
        (node.scratch_gib, "scratch_gib"),
    ):
        used = sum(
            round(1000 * getattr(run.request, f"{name}_per_gpu")) * len(seat.slots)
            for run in snap.running
            for seat in run.seats
            if seat.node == node.id
        )
        wants = round(1000 * getattr(request, f"{name}_per_gpu")) * gpus
        if have is not None and wants and used + wants > round(1000 * have):
            return False
    return True


def exists(snap: Snapshot, ask: Ask) -> bool:
    """Whether some set of slots obeys every rule."""
    kinds = {node.gpu_type for node in snap.nodes}
    return any(fewest(snap, ask, kind, ask.level) is not None for kind in kinds)


def fewest(snap: Snapshot, ask: Ask, kind: str, level: str) -> int | None:
    """On how few nodes inside one domain of this level it can sit, if it can."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for row, node in enumerate(snap.nodes):
        if node.gpu_type == kind:
            groups.setdefault(path(node, level), []).append(row)
    found = [many for rows in groups.values() for many in _nodes(snap, ask, rows)]
    return min(found) if found else None


def _nodes(snap: Snapshot, ask: Ask, rows: list[int]) -> set[int]:
    """On how many of these nodes it can sit."""
    each = ask.request.per_node
    if each and ask.size % each:
        return set()
    most_spot = int(ask.request.spot_share * ask.size + 1e-9)
    reached = {(0, 0, 0)}  # GPUs, nodes, GPUs on spot nodes
    for row in rows:
        offers = sizes(snap, ask, row) - {0}
        offers = offers & {each} if each else offers
        spot = snap.nodes[row].spot
        reached |= {
            (gpus + offer, nodes + 1, on_spot + offer * spot)
            for gpus, nodes, on_spot in reached
            for offer in offers
            if gpus + offer <= ask.size and on_spot + offer * spot <= most_spot
        }
    return {nodes for gpus, nodes, _ in reached if gpus == ask.size}


def faults(snap: Snapshot, ask: Ask, kind: str, seats: tuple[Seat, ...]) -> list[str]:
    """What is wrong with a placement."""
    rows = {node.id: row for row, node in enumerate(snap.nodes)}
    nodes = [snap.nodes[rows[seat.node]] for seat in seats]
    request, tp = ask.request, ask.request.tp
    gpus = [len(seat.slots) for seat in seats]
    on_spot = sum(many for node, many in zip(nodes, gpus, strict=True) if node.spot)
    groups = [
        {node.nvlink[slot] for slot in seat.slots[first : first + tp]}
        for node, seat in zip(nodes, seats, strict=True)
        for first in range(0, len(seat.slots), tp)
    ]
    wrong = {
        "a node twice": len({node.id for node in nodes}) < len(nodes),
        "a slot twice": any(len(set(seat.slots)) < len(seat.slots) for seat in seats),
        "a slot that is not free": not all(
            snap.free[rows[seat.node], slot] and snap.nodes[rows[seat.node]].nvlink[slot] >= 0
            for seat in seats
            for slot in seat.slots
        ),
        "not the whole gang": sum(gpus) != ask.size,
        "not the exact shape": bool(request.nodes) and set(gpus) != {request.per_node},
        "another type": {node.gpu_type for node in nodes} != {kind},
        "a node that is not allowed": not all(allowed(snap, ask, node) for node in nodes),
        "a broken group": any(len(group) > 1 for group in groups) or any(many % tp for many in gpus),
        "too few CPUs": not all(enough(snap, ask, *pair) for pair in zip(nodes, gpus, strict=True)),
        "more than one domain": len({path(node, ask.level) for node in nodes}) > 1,
        "too much on spot nodes": on_spot > int(request.spot_share * ask.size + 1e-9),
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]
