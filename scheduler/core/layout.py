"""What depends on the nodes alone, and each kind of request worked out for them."""

from collections.abc import Sequence
from itertools import count
from math import floor
from typing import NamedTuple

import numpy as np

from scheduler.core import shapes
from scheduler.core.field import Field
from scheduler.core.ground import Ground, Traits, alone, traits
from scheduler.core.model import Node, Request, Tier
from scheduler.core.policy import Policy
from scheduler.core.tree import Bools, Depth, grow

MANY_GROUNDS, MANY_QUERIES = 512, 50_000  # to remember; then it starts anew


class Query(NamedTuple):
    """A request as a board looks it up: worked out once for each kind of request."""

    number: int
    gpus: int
    shape: shapes.Shape | None  # None = the planner chooses
    reach: Depth  # the widest level whose domains may hold it
    grounds: tuple[Ground, ...]  # in the order of the accepted types
    spot: int  # GPUs that may sit on spot nodes
    spread: bool


class Layout:
    """It may be kept while the nodes are unchanged."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.fields = {kind: Field(tree) for kind, tree in grow(self.nodes).items()}
        self.row = {node.id: row for row, node in enumerate(self.nodes)}
        self.position = [-1] * len(self.nodes)  # by row, on the tree of its type; -1 = no part of the cluster
        shape = (len(self.nodes), max((len(node.nvlink) for node in self.nodes), default=0))
        self.exists: Bools = np.zeros(shape, dtype=np.bool_)  # [row, slot]: there is a GPU
        self.works: Bools = np.zeros(shape, dtype=np.bool_)  # the same on nodes that may be used now
        for field in self.fields.values():
            rows = field.tree.rows
            self.exists[rows, : field.slots] = field.exists
            self.works[rows, : field.slots] = field.exists & field.usable[:, None]
            for position, row in enumerate(rows.tolist()):
                self.position[row] = position
        self._whole = tuple(kind for kind, field in self.fields.items() if not field.sliced.all())
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._grounds: dict[tuple[str, Traits], Ground] = {}
        self._queries: dict[tuple[object, ...], Query] = {}
        self._numbers = count()  # never used twice: boards remember answers by number

    def query(self, request: Request, gpus: int, *, tier: Tier, policy: Policy, relaxed: bool) -> Query:
        """The request worked out for these nodes."""
        pools = (policy.production_pools, policy.sharing_pools)
        key = (request, gpus, tier is Tier.PRODUCTION, pools, relaxed)
        query = self._queries.get(key)
        if query is None:
            self._forget()
            # A hair more than the product, so that a third of 3 is 1.
            spot = min(gpus, floor(request.spot_share * gpus + 1e-9))
            known = traits(request, tier, policy, spot=spot > 0)
            query = self._queries[key] = Query(
                number=next(self._numbers),
                gpus=gpus,
                shape=shapes.exact(request, gpus),
                reach=shapes.reach(request, relaxed=relaxed),
                grounds=self._accepted(request, gpus, known),
                spot=spot,
                spread=request.spread,
            )
        return query

    def kinds(self, request: Request) -> tuple[str, ...]:
        """The GPU types that it accepts and that are here, in its order; any type means any whole GPU."""
        types = request.gpu_types
        if not types:
            return self._whole
        if types not in self._kinds:
            self._kinds[types] = tuple(kind for kind in types if kind in self.fields)
        return self._kinds[types]

    def ground(self, kind: str, known: Traits) -> Ground:
        """The nodes of one type for requests of these traits."""
        if (kind, known) not in self._grounds:
            plain = alone(known)
            coarse = None if plain == known else self.ground(kind, plain)
            self._grounds[kind, known] = Ground(next(self._numbers), self.fields[kind], known, coarse)
        return self._grounds[kind, known]

    def _forget(self) -> None:
        """A queue in which no two requests are alike must not fill the memory."""
        if len(self._queries) >= MANY_QUERIES or len(self._grounds) >= MANY_GROUNDS:
            self._queries.clear()
            self._grounds.clear()

    def _accepted(self, request: Request, gpus: int, known: Traits) -> tuple[Ground, ...]:
        """None at all for an elastic size that is no whole number of nodes or groups."""
        if gpus % (request.per_node or request.tp):
            return ()
        grounds = (self.ground(kind, known) for kind in self.kinds(request))
        return tuple(ground for ground in grounds if ground.widths)
