"""Places for gangs that want to lose as little as possible with one rack: over as many racks as they have nodes."""

import numpy as np

from scheduler.core.place import FAR, WEIGHT, Chosen, fill
from scheduler.core.shapes import Shape
from scheduler.core.tally import Tally
from scheduler.core.tree import Depth, Ints


def seat(tally: Tally, shape: Shape, reach: Depth) -> Chosen | None:
    """The domain within reach that offers the most racks, of equals the tightest; there, rack by rack in turn."""
    if shape.size > tally.tree.width:
        return None
    fits, free = tally.fits[reach][shape.size], tally.free[reach]
    tally.meter.steps += len(free)
    enough = fits >= shape.nodes
    if shape.rest:
        enough &= tally.fits[reach][shape.rest] > shape.nodes
    able = np.flatnonzero(enough)
    if not len(able):
        return None
    racks = np.array([_racks(tally, reach, int(domain), shape) for domain in able], dtype=np.int64)
    best = np.flatnonzero(racks == racks.max())
    tightest = best[(fits[able][best] * WEIGHT + free[able][best]).argmin()]
    return _seat(tally, _within(tally, reach, int(able[tightest])), shape)


def _within(tally: Tally, depth: Depth, domain: int) -> tuple[int, int]:
    """The racks of a domain."""
    span, rack = tally.tree.levels[depth].span, tally.tree.levels[Depth.RACK].of_node
    low, high = rack[span[domain]], rack[span[domain + 1] - 1] + 1
    tally.meter.steps += high - low
    return low, high


def _racks(tally: Tally, depth: Depth, domain: int, shape: Shape) -> int:
    """On how many racks of this domain the shape can sit."""
    low, high = _within(tally, depth, domain)
    fits = tally.fits[Depth.RACK][:, low:high]
    whole = min(shape.nodes, int((fits[shape.size] > 0).sum()))
    return min(whole + 1, int((fits[shape.rest] > 0).sum())) if shape.rest else whole


def _seat(tally: Tally, racks: tuple[int, int], shape: Shape) -> Chosen:
    low, high = racks
    fits, free = tally.fits[Depth.RACK][shape.size, low:high], tally.free[Depth.RACK][low:high]
    share = _in_turn(fits, free, shape.nodes)
    found: Chosen = []
    for rack in np.flatnonzero(share).tolist():
        nodes = fill(tally, Depth.RACK, low + rack, (int(share[rack]), shape.size))
        found += ((position, shape.size) for position in nodes)
    if shape.rest:
        found.append((_rest(tally, low, share, (found, shape.rest)), shape.rest))
    return sorted(found)


def _in_turn(fits: Ints, free: Ints, nodes: int) -> Ints:
    """How many nodes each rack gives: one of each until all are seated, the most broken racks first."""
    share = np.zeros_like(fits)
    while nodes > 0:
        turn = np.flatnonzero(fits > share)
        turn = turn[np.argsort(free[turn], kind="stable")][:nodes]
        share[turn] += 1
        nodes -= len(turn)
    return share


def _rest(tally: Tally, first: int, share: Ints, rest: tuple[Chosen, int]) -> int:
    """The rest goes to the rack with the fewest seats so far, there to the tightest node that holds it."""
    found, gpus = rest
    span = tally.tree.levels[Depth.RACK].span
    low, high = span[first], span[first + len(share)]
    room = tally.free[Depth.NODE][low:high]
    seats = share[tally.tree.levels[Depth.RACK].domain[low:high] - first]
    able = room >= gpus
    able[[position - low for position, _ in found]] = False
    return low + int(np.where(able, seats * WEIGHT + room, FAR).argmin())
