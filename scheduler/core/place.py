"""Which nodes and slots a gang takes: best fit on the tree, ties to the lowest position."""

import numpy as np

from scheduler.core.board import Board, Tally
from scheduler.core.model import Job, Seat
from scheduler.core.tree import Depth, Ints

FAR = 1 << 62  # no place at all
WEIGHT = 1 << 32  # a first key outweighs any number of free GPUs


def seat_gang(job: Job, kind: str, board: Board) -> tuple[Seat, ...] | None:
    """All seats of the gang on GPUs of this type, or None. The order of seats is the order on the tree."""
    if not board.holds(kind, job.nodes, job.gpus_per_node):
        return None
    tally = board.tallies[kind]
    if job.nodes == 1:
        chosen = [_fullest_node(tally, job.gpus_per_node)]
    else:
        chosen = sorted(_smallest_domain(tally, job.nodes, job.gpus_per_node))
    return tuple(_seat(board, tally, position, job.gpus_per_node) for position in chosen)


def _fullest_node(tally: Tally, gpus: int) -> int:
    """The fullest node that still fits; of equals the one in the fullest cluster, block and rack."""
    counts = tally.fits[Depth.ALL][0]
    exactly = next(g for g in range(gpus, tally.tree.width + 1) if counts[g] > counts[g + 1])
    domain = 0
    for depth in (Depth.CLUSTER, Depth.BLOCK, Depth.RACK):
        low, high = _children(tally, Depth(depth + 1), domain)
        fits = tally.fits[depth][low:high]
        has_one = fits[:, exactly] > fits[:, exactly + 1]
        domain = low + int(np.where(has_one, tally.free[depth][low:high], FAR).argmin())
    low, high = _children(tally, Depth.RACK, domain)
    return low + int((tally.node_free[low:high] == exactly).argmax())


def _smallest_domain(tally: Tally, nodes: int, gpus: int) -> list[int]:
    """Inside one rack if one holds the gang, else one block, else one cluster; the tightest of that level."""
    for depth in (Depth.RACK, Depth.BLOCK, Depth.CLUSTER):
        tally.steps += len(tally.free[depth])
        domain = _tightest(tally.fits[depth][:, gpus], tally.free[depth], nodes)
        if domain is not None:
            return _fill(tally, depth, domain, (nodes, gpus))
    raise AssertionError("asked to seat a gang that no cluster holds")


def _tightest(fits: Ints, free: Ints, nodes: int) -> int | None:
    """The domain with the fewest fitting nodes that suffice; of equals the one with the fewest free GPUs."""
    keys = np.where(fits >= nodes, fits * WEIGHT + free, FAR)
    best = int(keys.argmin())
    return best if keys[best] < FAR else None


def _fill(tally: Tally, depth: Depth, domain: int, shape: tuple[int, int]) -> list[int]:
    """Choose nodes inside a domain: as few blocks as it takes, in each of them as few racks as it takes."""
    nodes, gpus = shape
    low, high = _children(tally, depth, domain)
    if depth is Depth.RACK:
        free = tally.node_free[low:high]
        able = np.flatnonzero(free >= gpus)
        return [low + int(i) for i in able[np.argsort(free[able], kind="stable")][:nodes]]
    inner = Depth(depth - 1)
    fits, free = tally.fits[inner][low:high, gpus].copy(), tally.free[inner][low:high]
    chosen: list[int] = []
    while len(chosen) < nodes:
        tally.steps += high - low
        child = _tightest(fits, free, nodes - len(chosen))
        if child is None:  # no part holds the rest: take the largest part whole and go on
            child = int((fits * WEIGHT - free).argmax())
        part = min(nodes - len(chosen), int(fits[child]))
        chosen += _fill(tally, inner, low + child, (part, gpus))
        fits[child] = 0
    return chosen


def _children(tally: Tally, depth: Depth, domain: int) -> tuple[int, int]:
    """Where the parts of a domain stand, one level below it."""
    bounds = tally.tree.levels[depth].bounds
    tally.steps += bounds[domain + 1] - bounds[domain]
    return bounds[domain], bounds[domain + 1]


def _seat(board: Board, tally: Tally, position: int, gpus: int) -> Seat:
    """Inside the node: the tightest NVLink domain that holds it, else as few domains as it takes."""
    node = tally.tree.nodes[position]
    domains: dict[int, list[int]] = {}
    for slot in np.flatnonzero(board.slots[tally.tree.rows[position]]).tolist():
        domains.setdefault(node.nvlink[slot], []).append(slot)
    taken: list[int] = []
    while len(taken) < gpus:
        rest = gpus - len(taken)
        enough = [d for d in domains if len(domains[d]) >= rest]
        if enough:
            domain = min(enough, key=lambda d: (len(domains[d]), d))
        else:
            domain = max(domains, key=lambda d: (len(domains[d]), -d))
        taken += domains.pop(domain)[:rest]
    return Seat(node.id, tuple(sorted(taken)))
