"""Which rule finds the place for a request, and in what order nodes are opened to it."""

import numpy as np

from scheduler.core import mixed, place, spread
from scheduler.core.burden import FIRM
from scheduler.core.ground import Ground
from scheduler.core.layout import Query
from scheduler.core.mixed import Both
from scheduler.core.place import Chosen
from scheduler.core.shapes import whole
from scheduler.core.slate import Slate
from scheduler.core.tally import Tally
from scheduler.core.tree import Depth


def holds(slate: Slate, query: Query) -> bool:
    """Whether there is a place; what found none is not asked again until something comes back."""
    if query.number in slate.full:
        return False
    if any(_fits(slate, ground, query) for ground in query.grounds):
        return True
    slate.full.add(query.number)
    return False


def seek(slate: Slate, query: Query, *, firm: bool) -> tuple[Ground, Chosen] | None:
    """The first accepted type that has a place; there lemons and spot nodes only where it takes them."""
    if query.number in slate.full:
        return None
    for ground in query.grounds:
        # Where one look tells all, the search itself is the look.
        if (ground.stages == 1 and _thinkable(slate, ground, query)) or _fits(slate, ground, query):
            for stage in range(ground.stages):
                found = _seek(slate, ground, stage, (query, firm))
                if found is not None:
                    return ground, found
    slate.full.add(query.number)
    return None


def _thinkable(slate: Slate, ground: Ground, query: Query) -> bool:
    """Whether GPUs alone would fit: many kinds of requests share that look, and most of them end with it."""
    coarse = ground.coarse
    return coarse is None or 0 < query.spot < query.gpus or _has_room(slate, coarse, query)


def _fits(slate: Slate, ground: Ground, query: Query) -> bool:
    if 0 < query.spot < query.gpus:
        return mixed.holds(_both(slate, ground), query.shape, (query.gpus, query.spot), query.reach)
    return _thinkable(slate, ground, query) and _has_room(slate, ground, query)


def _has_room(slate: Slate, ground: Ground, query: Query) -> bool:
    if query.shape is None:
        return slate.tally(ground).most_free(query.reach) >= query.gpus
    return slate.tally(ground).most_nodes(query.reach, query.shape.size) >= query.shape.nodes


def _both(slate: Slate, ground: Ground, stage: int | None = None) -> Both:
    return Both(slate.tally(ground, stage, spot=False), slate.tally(ground, stage, spot=True))


def _seek(slate: Slate, ground: Ground, stage: int, asked: tuple[Query, bool]) -> Chosen | None:
    query, firm = asked
    if 0 < query.spot < query.gpus:
        both = _both(slate, ground, stage)
        return mixed.seat(both, query.shape, (query.gpus, query.spot), query.reach)
    tally = slate.tally(ground, stage)
    if firm:
        found = _among_firm(slate, tally, query)
        if found is not None:
            return found
    if query.spread and query.reach >= Depth.BLOCK:
        found = spread.seat(tally, query.shape or whole(query.gpus, ground.widths[0]), query.reach)
        if found is not None:
            return found
    if query.shape is None:
        return place.seat_gpus(tally, query.gpus, query.reach)
    return place.seat_shape(tally, query.shape, query.reach)


def _among_firm(slate: Slate, tally: Tally, query: Query) -> Chosen | None:
    """A small job that may not be stopped joins others of its kind, so that other nodes can be emptied."""
    if query.gpus > tally.tree.width or (query.shape and query.shape.nodes > 1):
        return None
    room, firm = tally.free[Depth.NODE], slate.burden.used[FIRM, tally.tree.rows]
    tally.meter.steps += len(room)
    able = np.flatnonzero((room >= query.gpus) & (firm > 0))
    if not len(able):
        return None
    return [(int(able[room[able].argmin()]), query.gpus)]
