"""The nodes of one GPU type as a tree: cluster, block, rack, node."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Node

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Depth(IntEnum):
    """The levels of the tree, from the narrowest to the widest."""

    NODE = 0
    RACK = 1
    BLOCK = 2
    CLUSTER = 3

    @property
    def word(self) -> str:
        """Its name in requests and sentences."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The domains of one level, numbered in the order of the positions they hold."""

    of_node: list[int]  # position of a node -> its domain
    domain: Ints  # the same as an array
    first_part: Ints  # domain -> the first of its parts, one level below
    bounds: list[int]  # domain d holds what stands at bounds[d] to bounds[d + 1] one level below
    span: list[int]  # domain d holds the positions span[d] to span[d + 1]

    def __len__(self) -> int:
        return len(self.first_part)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A node's position is its place in the order cluster, block, rack, name: ties go to the lowest."""

    gpu_type: str
    nodes: tuple[Node, ...]  # by position
    rows: Ints  # position -> row of the snapshot
    levels: tuple[Level, ...]  # by Depth; at Depth.NODE each position is a domain of its own
    width: int  # GPUs of the largest node

    def level_of(self, first: int, last: int) -> Depth:
        """The narrowest level at which all between these positions stand in one domain."""
        if first == last:
            return Depth.NODE
        return next(d for d in Depth if self.levels[d].of_node[first] == self.levels[d].of_node[last])


def grow(nodes: Sequence[Node]) -> dict[str, Tree]:
    """One tree for each GPU type, by name; a node that nobody has approved is not part of the cluster."""
    known = [(row, node) for row, node in enumerate(nodes) if node.why_not != "pending" and node.gpus]
    known.sort(key=lambda pair: (pair[1].gpu_type, *_path(pair[1]), pair[1].name, pair[1].id))
    return {kind: _grow(kind, list(found)) for kind, found in groupby(known, lambda pair: pair[1].gpu_type)}


def _path(node: Node) -> tuple[str, ...]:
    return (node.cluster, node.block, node.rack)


def _grow(gpu_type: str, known: list[tuple[int, Node]]) -> Tree:
    nodes = tuple(node for _, node in known)
    paths = [_path(node) for node in nodes]
    below = list(range(len(nodes)))
    levels = [_level(below, below)]
    for depth in (Depth.RACK, Depth.BLOCK, Depth.CLUSTER):
        levels.append(_level(below, [path[: Depth.CLUSTER + 1 - depth] for path in paths]))
        below = levels[-1].of_node
    rows = np.array([row for row, _ in known], dtype=np.int64)
    return Tree(gpu_type, nodes, rows, tuple(levels), width=max(node.gpus for node in nodes))


def _level(below: list[int], paths: Sequence[object]) -> Level:
    """Number equal paths alike; they stand side by side, because the nodes are sorted by path."""
    starts: list[int] = []
    of_node: list[int] = []
    for position, path in enumerate(paths):
        if not position or path != paths[position - 1]:
            starts.append(position)
        of_node.append(len(starts) - 1)
    bounds = [*(below[position] for position in starts), below[-1] + 1]
    return Level(
        of_node=of_node,
        domain=np.array(of_node, dtype=np.int64),
        first_part=np.array(bounds[:-1], dtype=np.int64),
        bounds=bounds,
        span=[*starts, len(of_node)],
    )
