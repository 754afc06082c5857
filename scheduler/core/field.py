"""What is known of the nodes of a tree, as arrays by position."""

from functools import cached_property

import numpy as np

from scheduler.core.model import Node
from scheduler.core.tree import Bools, Ints, Tree

UNLIMITED = 1 << 50
LEMON = 3  # a node that failed more often than this is no worse


def thousandths(amount: float) -> int:
    """CPUs and GiB are counted in whole thousandths: what is taken and given back leaves no rest."""
    return round(amount * 1000)


class Field:
    """Made once for each tree, asked by every ground on it."""

    def __init__(self, tree: Tree) -> None:
        nodes = tree.nodes
        self.tree = tree
        self.slots = max(len(node.nvlink) for node in nodes)
        self.pool = np.array([node.pool for node in nodes])
        self.memory = np.array([_or(node.gpu_memory_gib, np.inf) for node in nodes])
        self.spot: Bools = np.array([node.spot for node in nodes], dtype=np.bool_)
        self.sliced: Bools = np.array([node.sliced for node in nodes], dtype=np.bool_)
        self.usable: Bools = np.array([node.usable for node in nodes], dtype=np.bool_)
        self.lemon: Ints = np.array([min(node.lemon, LEMON) for node in nodes], dtype=np.int64)
        self.most = [
            _capacity(node) for node in nodes
        ]  # by position: CPUs, memory and scratch, in thousandths
        self.capacity: Ints = np.array(self.most, dtype=np.int64).T
        padded = [node.nvlink + (-1,) * (self.slots - len(node.nvlink)) for node in nodes]
        self.links: Ints = np.array(padded, dtype=np.int64)
        self.exists: Bools = self.links >= 0
        # Whether all of its GPUs are in one NVLink domain.
        self.linked = [len({link for link in node.nvlink if link >= 0}) == 1 for node in nodes]
        self._features: dict[str, Bools] = {}

    def has(self, feature: str) -> Bools:
        """Which nodes have this feature."""
        if feature not in self._features:
            having = [feature in node.features for node in self.tree.nodes]
            self._features[feature] = np.array(having, dtype=np.bool_)
        return self._features[feature]

    @cached_property
    def domains(self) -> tuple[Ints, Ints]:
        """The NVLink domains of all nodes, numbered: [position, slot] -> domain, and domain -> position."""
        most = int(self.links.max()) + 1
        position, slot = np.nonzero(self.exists)
        known, number = np.unique(position * most + self.links[position, slot], return_inverse=True)
        of_slot = np.full(self.links.shape, -1, dtype=np.int64)
        of_slot[position, slot] = number
        return of_slot, known // most


def _or(amount: float | None, otherwise: float) -> float:
    return otherwise if amount is None else amount


def _capacity(node: Node) -> tuple[int, ...]:
    limits = (node.cpus, node.memory_gib, node.scratch_gib)
    return tuple(UNLIMITED if limit is None else thousandths(limit) for limit in limits)
