"""Where the plain policies put a job: what its ask leaves to choose, found once for all jobs that ask the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

import numpy as np

from scheduler.core.model import Seat
from scheduler.sim.site import Ints, Site
from scheduler.sim.thinkers.choose import Field, Want, Way, exact_shape, one_node, pieces, whole_nodes
from scheduler.sim.thinkers.scratch import Scratch
from scheduler.sim.work import SLACK
from scheduler.sim.workload import Ask


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Everything of an ask that decides where it fits: thousands of jobs share a few dozen of them."""

    ask: Ask
    want: Want
    way: Way
    fields: tuple[Field, ...]  # those that could ever hold it, in order of preference; none = impossible


class Plain:
    """Shapes and places on one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._empty = Scratch.of_empty(site)
        self._shapes: dict[object, Shape] = {}

    def shape(self, ask: Ask) -> Shape:
        """The shape of an ask: the same object for every job that asks for the same."""
        key = (
            *(ask.gpus, ask.min_gpus, ask.nodes, ask.tp, ask.level if ask.required else "", ask.pool),
            *(ask.gpu_types, ask.gpu_memory_gib, ask.features, ask.spot_share),
            *(ask.cpus_per_gpu, ask.memory_gib_per_gpu),
        )
        if key not in self._shapes:
            self._shapes[key] = self._found(ask)
        return self._shapes[key]

    def seats(self, shape: Shape, scratch: Scratch) -> tuple[Seat, ...] | None:
        """The whole gang on this scratch paper, or None; nothing is taken yet."""
        room = scratch.room(shape.ask)
        for field in shape.fields:
            chosen = shape.way(shape.want, field, room[field.rows], scratch.spare[field.rows])
            if chosen is not None:
                return tuple(scratch.seat(row, gpus, shape.ask.tp) for row, gpus in chosen)
        return None

    def fits(self, shape: Shape, scratch: Scratch) -> bool:
        """Whether the gang has some place on this scratch paper."""
        room, want = scratch.room(shape.ask), shape.want
        return any(
            shape.way(want, field, room[field.rows], scratch.spare[field.rows]) is not None
            for field in shape.fields
        )

    def _found(self, ask: Ask) -> Shape:
        """The first size and way in which the empty cluster holds it.

        An elastic job gets its full size unless the cluster is too small for that; a gang in pieces is the last
        resort, for nodes of unequal sizes.
        """
        for want in _wants(ask):
            for way, parts in self._ways(ask, want):
                shape = Shape(ask, want, way, tuple(self._field(ask, part) for part in parts if part.size))
                holds = tuple(f for f in shape.fields if self.fits(Shape(ask, want, way, (f,)), self._empty))
                if holds:
                    return Shape(ask, want, way, holds)
        return Shape(ask, next(_wants(ask)), pieces, ())

    def _ways(self, ask: Ask, want: Want) -> Iterator[tuple[Way, list[Ints]]]:
        rows = np.flatnonzero(self.site.allowed(ask) & (self._empty.room(ask) > 0))
        packed = ask.required and ask.level == "node"
        by_type = self._inside(ask, self._by_type(ask, rows))
        if want.nodes is not None:
            if want.nodes == 1 or not packed:
                yield exact_shape, by_type
            return
        # Of a single node all types are equal, unless the job prefers one.
        yield one_node, self._inside(ask, [rows]) if not ask.gpu_types else by_type
        if not packed:
            yield whole_nodes, by_type
            yield pieces, by_type

    def _by_type(self, ask: Ask, rows: Ints) -> list[Ints]:
        kinds = np.array([self.site.types[row] for row in rows.tolist()])
        accepted = ask.gpu_types or tuple(sorted(set(kinds.tolist())))
        return [rows[kinds == kind] for kind in accepted]

    def _inside(self, ask: Ask, parts: list[Ints]) -> list[Ints]:
        """The same parts, cut into the domains of the level that the job requires."""
        if not ask.required or ask.level not in ("rack", "block"):
            return parts
        of = self.site.domains[ask.level]
        return [part[of[part] == domain] for part in parts for domain in np.unique(of[part])]

    def _field(self, ask: Ask, rows: Ints) -> Field:
        return Field(rows, self._empty.room(ask)[rows], self.site.spot[rows])


def _wants(ask: Ask) -> Iterator[Want]:
    """From the full size down to the smallest that an elastic job accepts."""
    step = ask.gpus_per_node or ask.tp
    for gpus in range(ask.gpus, ask.min_gpus - 1, -step):
        nodes = None if ask.gpus_per_node is None else gpus // ask.gpus_per_node
        yield Want(gpus, nodes, ask.tp, on_spot=floor(gpus * ask.spot_share + SLACK))
