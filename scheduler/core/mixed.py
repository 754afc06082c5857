"""Places for gangs that may have only a share of their GPUs on spot nodes: steady nodes first."""

from typing import NamedTuple

import numpy as np

from scheduler.core.place import Chosen, fill, fullest_node, gather
from scheduler.core.shapes import Shape
from scheduler.core.tally import ABOVE, Tally
from scheduler.core.tree import Depth, Ints


class Both(NamedTuple):
    """The same nodes counted apart: those that stay, and those that may be taken away."""

    steady: Tally
    spot: Tally


def holds(both: Both, shape: Shape | None, gpus: tuple[int, int], reach: Depth) -> bool:
    """Whether some domain within reach has room; `gpus` are those of the gang, and of them on spot nodes."""
    if reach is Depth.NODE:
        alone = shape is None or shape.nodes == 1
        return alone and both.steady.most_free(reach) >= gpus[0]
    needed = shape.nodes if shape else gpus[0]
    return int(np.sum(_parts(both, shape, gpus, reach), axis=0).max()) >= needed


def seat(both: Both, shape: Shape | None, gpus: tuple[int, int], reach: Depth) -> Chosen | None:
    """The smallest domain that holds it, there the one that needs the fewest spot nodes."""
    if shape is None or shape.nodes == 1:
        position = fullest_node(both.steady, gpus[0])
        if position is not None:
            return [(position, gpus[0])]
    needed = shape.nodes if shape else gpus[0]
    for depth in ABOVE[:reach]:
        steady, spot = _parts(both, shape, gpus, depth)
        able = np.flatnonzero(steady + spot >= needed)
        if len(able):
            domain = int(able[steady[able].argmax()])
            staying = min(needed, int(steady[domain]))
            return _seat(both, shape, (depth, domain), (staying, needed - staying))
    return None


def _parts(both: Both, shape: Shape | None, gpus: tuple[int, int], depth: Depth) -> tuple[Ints, Ints]:
    """By domain, how much of the gang fits on steady nodes and on spot nodes: nodes, or GPUs of a free shape."""
    both.steady.meter.steps += 2 * len(both.steady.free[depth])
    if shape is None:
        return both.steady.free[depth], np.minimum(both.spot.free[depth], gpus[1])
    if shape.size > both.steady.tree.width:
        nothing = np.zeros_like(both.steady.free[depth])
        return nothing, nothing
    spot = np.minimum(both.spot.fits[depth][shape.size], gpus[1] // shape.size)
    return both.steady.fits[depth][shape.size], spot


def _seat(both: Both, shape: Shape | None, where: tuple[Depth, int], parts: tuple[int, int]) -> Chosen:
    found: Chosen = []
    for tally, part in zip(both, parts, strict=True):
        if part and shape is None:
            found += gather(tally, *where, part)
        elif part and shape is not None:
            found += ((position, shape.size) for position in fill(tally, *where, (part, shape.size)))
    return sorted(found)
