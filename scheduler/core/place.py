"""Which nodes a gang takes and how many GPUs on each: best fit on the tree, ties to the lowest position."""

import numpy as np

from scheduler.core.shapes import Shape, whole
from scheduler.core.tally import ABOVE, Tally
from scheduler.core.tree import Bools, Depth, Ints

FAR = 1 << 62  # no place at all
WEIGHT = 1 << 32  # a first key outweighs any number of free GPUs
Chosen = list[tuple[int, int]]  # positions and how many GPUs there


def seat_shape(tally: Tally, shape: Shape, reach: Depth) -> Chosen | None:
    """One node if that is all; else the smallest domain that holds the shape, the tightest of its level."""
    if shape.seats == 1:
        position = fullest_node(tally, shape.size)
        return None if position is None else [(position, shape.size)]
    if shape.size > tally.tree.width:
        return None
    for depth in ABOVE[:reach]:
        domain = _tightest_for(tally, depth, shape)
        if domain is not None:
            return _fill_shape(tally, depth, domain, shape)
    return None


def seat_gpus(tally: Tally, gpus: int, reach: Depth) -> Chosen | None:
    """Whole nodes and a rest; broken nodes where those are fewer, or all there is."""
    found = seat_shape(tally, whole(gpus, tally.ground.widths[0]), reach)
    if found is not None:
        return found
    loose = _loosest(tally, gpus, reach)
    if loose is None:
        return None
    depth, domain, fewest = loose
    for width in tally.ground.widths[1:]:
        shape = whole(gpus, width)
        if shape.seats > fewest:
            break
        found = seat_shape(tally, shape, reach)
        if found is not None:
            return found
    return gather(tally, depth, domain, gpus)


def fullest_node(tally: Tally, gpus: int) -> int | None:
    """The fullest node that still fits; of equals the one in the fullest cluster, block and rack."""
    room = tally.least_room(gpus)
    if room is None:
        return None
    rooms = tally.free[Depth.NODE]
    if tally.exactly[room] == 1 and rooms[tally.latest[room]] == room:
        return tally.latest[room]
    low, high = tally.parts(Depth.RACK, _fullest_rack(tally, room))
    return low + int((rooms[low:high] == room).argmax())


def _fullest_rack(tally: Tally, room: int) -> int:
    """Down the tree to a node of this room, from the narrowest domain that is known to be the fullest."""
    depth, domain, path = Depth.CLUSTER, -1, [-1] * 4
    for known in ABOVE:
        led = tally.trail.leads(room, known)
        if led is not None and tally.fits[known][room, led] > tally.fits[known][room + 1, led]:
            depth, domain, path = known, led, tally.trail.paths[room][1].copy()
            break
    low, high = 0, len(tally.free[Depth.CLUSTER])
    while depth >= Depth.RACK:
        if domain < 0:
            fits = tally.fits[depth][room : room + 2, low:high]
            domain = low + int(np.where(fits[0] > fits[1], tally.free[depth][low:high], FAR).argmin())
        path[depth] = domain
        if depth is Depth.RACK:
            break
        low, high = tally.parts(depth, domain)
        depth, domain = Depth(depth - 1), -1
    tally.trail.paths[room] = (tally.trail.stamp, path)
    return path[Depth.RACK]


def _tightest_for(tally: Tally, depth: Depth, shape: Shape) -> int | None:
    """The domain of this level that holds the shape with the fewest nodes to spare."""
    tally.meter.steps += len(tally.free[depth])
    fits = tally.fits[depth][shape.size]
    enough = fits >= shape.nodes
    if shape.rest:
        enough &= tally.fits[depth][shape.rest] > shape.nodes
    return _tightest(enough, fits, tally.free[depth])


def _tightest(enough: Bools, fits: Ints, free: Ints) -> int | None:
    """Of those with enough the one with the fewest fitting nodes; of equals the one with the fewest free GPUs."""
    keys = np.where(enough, fits * WEIGHT + free, FAR)
    best = int(keys.argmin())
    return best if keys[best] < FAR else None


def _fill_shape(tally: Tally, depth: Depth, domain: int, shape: Shape) -> Chosen:
    chosen = fill(tally, depth, domain, (shape.nodes, shape.size))
    found = [(position, shape.size) for position in chosen]
    if shape.rest:
        found.append((_last_node(tally, depth, domain, (chosen, shape.rest)), shape.rest))
    return sorted(found)


def fill(tally: Tally, depth: Depth, domain: int, shape: tuple[int, int]) -> list[int]:
    """Choose nodes inside a domain: as few blocks as it takes, in each of them as few racks as it takes."""
    nodes, gpus = shape
    low, high = tally.parts(depth, domain)
    if depth is Depth.RACK:
        room = tally.free[Depth.NODE][low:high]
        able = np.flatnonzero(room >= gpus)
        return [low + int(i) for i in able[np.argsort(room[able], kind="stable")][:nodes]]
    inner = Depth(depth - 1)
    fits, free = tally.fits[inner][gpus, low:high].copy(), tally.free[inner][low:high]
    chosen: list[int] = []
    while len(chosen) < nodes:
        tally.meter.steps += high - low
        child = _tightest(fits >= nodes - len(chosen), fits, free)
        if child is None:  # no part holds the rest: take the largest part whole and go on
            child = int((fits * WEIGHT - free).argmax())
        part = min(nodes - len(chosen), int(fits[child]))
        chosen += fill(tally, inner, low + child, (part, gpus))
        fits[child] = 0
    return chosen


def _last_node(tally: Tally, depth: Depth, domain: int, rest: tuple[list[int], int]) -> int:
    """The node for the rest: in a block and rack that the gang has anyway, there the tightest that holds it."""
    chosen, gpus = rest
    span, levels = tally.tree.levels[depth].span, tally.tree.levels
    low, high = span[domain], span[domain + 1]
    tally.meter.steps += high - low
    room = tally.free[Depth.NODE][low:high]
    able = room >= gpus
    able[np.array(chosen, dtype=np.int64) - low] = False
    key = room.copy()
    for outer in (Depth.BLOCK, Depth.RACK):
        domains = levels[outer].domain
        key += WEIGHT * outer * ~np.isin(domains[low:high], domains[chosen])
    return low + int(np.where(able, key, FAR).argmin())


def _loosest(tally: Tally, gpus: int, reach: Depth) -> tuple[Depth, int, int] | None:
    """The smallest domain with so many GPUs on any nodes, and on how few nodes; the fewest of its level."""
    for depth in ABOVE[:reach]:
        free = tally.free[depth]
        tally.meter.steps += len(free)
        able = np.flatnonzero(free >= gpus)
        if len(able):
            fewest = _fewest(tally.fits[depth][:, able], gpus)
            best = int((fewest * WEIGHT + free[able]).argmin())
            return depth, int(able[best]), int(fewest[best])
    return None


def _fewest(fits: Ints, gpus: int) -> Ints:
    """By domain, on how few nodes it can give so many GPUs, which it has: the largest rooms first."""
    room = np.arange(len(fits) - 1)[:, None]
    gives = (fits[:-1] - fits[1:]) * room
    # The nodes with more room than g give so many GPUs, for each g; the next smaller ones give the rest.
    above: Ints = gives[::-1].cumsum(axis=0)[::-1] - gives
    short = np.maximum(gpus - above, 0)
    needed: Ints = np.where(short <= gives, fits[1:] + -(-short // np.maximum(room, 1)), FAR)
    fewest: Ints = needed.min(axis=0)
    return fewest


def gather(tally: Tally, depth: Depth, domain: int, gpus: int) -> Chosen:
    """The largest rooms of a domain first, then the tightest that holds the rest: as few nodes as it takes."""
    span = tally.tree.levels[depth].span
    low, high = span[domain], span[domain + 1]
    tally.meter.steps += high - low
    room = tally.free[Depth.NODE][low:high]
    order = np.argsort(-room, kind="stable")
    upto = np.cumsum(room[order])
    many = int((upto < gpus).sum())  # so many are taken whole, and one more for the rest
    found = [(low + int(i), int(room[i])) for i in order[:many]]
    rest = gpus - (int(upto[many - 1]) if many else 0)
    able = room >= rest
    able[order[:many]] = False
    found.append((low + int(np.where(able, room, FAR).argmin()), rest))
    return sorted(found)
