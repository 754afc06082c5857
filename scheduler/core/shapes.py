"""What a gang looks for: so many whole nodes and a rest, inside one domain of a level."""

from typing import NamedTuple

from scheduler.core.model import Request
from scheduler.core.tree import Depth

LEVELS = {"": Depth.CLUSTER, "node": Depth.NODE, "rack": Depth.RACK, "block": Depth.BLOCK}


class Shape(NamedTuple):
    """So many nodes with `size` GPUs each, and one more with `rest` of them where that is not 0."""

    nodes: int
    size: int
    rest: int = 0

    @property
    def seats(self) -> int:
        """On how many nodes it sits."""
        return self.nodes + (self.rest > 0)


def exact(request: Request, gpus: int) -> Shape | None:
    """The shape a request names; None where the planner chooses, or where `gpus` does not come out even."""
    if not request.nodes or gpus % request.per_node:
        return None
    return Shape(gpus // request.per_node, request.per_node)


def whole(gpus: int, width: int) -> Shape:
    """As few nodes of this width as hold so many GPUs."""
    return Shape(gpus // width, width, gpus % width) if gpus > width else Shape(1, gpus)


def reach(request: Request, *, relaxed: bool) -> Depth:
    """The widest level whose domains may hold the gang: a wish counts only while it is not relaxed."""
    binding = request.level and (request.required or not relaxed)
    return LEVELS[request.level] if binding else Depth.CLUSTER
