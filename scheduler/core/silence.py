"""Clusters of which nothing has been heard."""

from collections.abc import Iterable

import numpy as np

from scheduler.core.ground import Ground
from scheduler.core.model import Fact, Facts, Node
from scheduler.core.tree import Depth

UNHEARD = ("silent", "lost")


class Silence:
    """A cluster is silent when every node of it is, or was given up; at least one not yet."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        states: dict[str, set[str]] = {}
        for node in nodes:
            if node.why_not != "pending":
                states.setdefault(node.cluster, set()).add("" if node.usable else node.why_not)
        self._silent = {
            cluster for cluster, found in states.items() if "silent" in found and found.issubset(UNHEARD)
        }

    def around(self, grounds: Iterable[Ground]) -> Facts | None:
        """The silent clusters, where a request could go nowhere else; else None."""
        if not self._silent:
            return None
        clusters = {name for ground in grounds for name in _clusters(ground)}
        if not clusters or not clusters <= self._silent:
            return None
        numbers: dict[str, Fact] = {"cluster": " and ".join(sorted(clusters)), "clusters": len(clusters)}
        return numbers


def _clusters(ground: Ground) -> Iterable[str]:
    domains = ground.tree.levels[Depth.CLUSTER].domain[ground.able]
    return {ground.tree.nodes[ground.tree.levels[Depth.CLUSTER].span[d]].cluster for d in np.unique(domains)}
