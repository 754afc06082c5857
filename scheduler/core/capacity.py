"""How much there is of each GPU type: what may be used, and what runs still hold where nothing new may start."""

from collections.abc import Iterable

from scheduler.core.layout import Layout
from scheduler.core.model import Node, Running


def usable(nodes: Iterable[Node]) -> dict[str, int]:
    """GPUs on nodes that may be used now, by type."""
    capacity: dict[str, int] = {}
    for node in nodes:
        if node.usable:
            capacity[node.gpu_type] = capacity.get(node.gpu_type, 0) + node.gpus
    return capacity


def outside(layout: Layout, running: Iterable[Running]) -> dict[int, int]:
    """How many GPUs a run holds where nothing new may start, by job; who holds none is left out."""
    shut = {node.id for node in layout.nodes if not node.usable or node.gpus < len(node.nvlink)}
    found: dict[int, int] = {}
    for run in running if shut else ():
        if seats := [seat for seat in run.seats if seat.node in shut]:
            slots = ((layout.row[seat.node], slot) for seat in seats for slot in seat.slots)
            found[run.job] = sum(not layout.works[cell] for cell in slots)
    return found
