"""The nodes of one GPU type as a tree: everything, cluster, block, rack, node."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Node

Ints = NDArray[np.int64]


class Depth(IntEnum):
    """The levels above the node, from the narrowest to the widest."""

    RACK = 0
    BLOCK = 1
    CLUSTER = 2
    ALL = 3


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The domains of one level, numbered in the order of the positions they hold."""

    of_node: list[int]  # position of a node -> its domain
    first_node: Ints  # domain -> its first position
    bounds: list[int]  # domain d holds what stands at bounds[d] to bounds[d + 1] one level below


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A node's position is its place in the order cluster, block, rack, name: ties go to the lowest."""

    gpu_type: str
    nodes: tuple[Node, ...]  # by position
    position: dict[int, int]  # node id -> position
    rows: Ints  # position -> row of the snapshot
    levels: tuple[Level, ...]  # by Depth
    width: int  # GPUs of the largest node


def trees(nodes: Sequence[Node]) -> dict[str, Tree]:
    """One tree for each GPU type, by name; a node that nobody has approved is not part of the cluster."""
    known = [(row, node) for row, node in enumerate(nodes) if node.why_not != "pending" and node.gpus]
    known.sort(key=lambda pair: (pair[1].gpu_type, *_path(pair[1]), pair[1].name, pair[1].id))
    return {kind: _grow(kind, list(found)) for kind, found in groupby(known, lambda pair: pair[1].gpu_type)}


def _path(node: Node) -> tuple[str, ...]:
    return (node.cluster, node.block, node.rack)


def _grow(gpu_type: str, known: list[tuple[int, Node]]) -> Tree:
    nodes = tuple(node for _, node in known)
    below = list(range(len(nodes)))
    levels: list[Level] = []
    for depth in Depth:
        levels.append(_level(below, [_path(node)[: Depth.ALL - depth] for node in nodes]))
        below = levels[-1].of_node
    return Tree(
        gpu_type=gpu_type,
        nodes=nodes,
        position={node.id: position for position, node in enumerate(nodes)},
        rows=np.array([row for row, _ in known], dtype=np.int64),
        levels=tuple(levels),
        width=max(node.gpus for node in nodes),
    )


def _level(below: list[int], paths: list[tuple[str, ...]]) -> Level:
    """Number equal paths alike; they stand side by side, because the nodes are sorted by path."""
    first: dict[tuple[str, ...], int] = {}
    of_node: list[int] = []
    for position, path in enumerate(paths):
        first.setdefault(path, position)
        of_node.append(len(first) - 1)
    starts = list(first.values())
    return Level(
        of_node=of_node,
        first_node=np.array(starts, dtype=np.int64),
        bounds=[*(below[position] for position in starts), below[-1] + 1],
    )
