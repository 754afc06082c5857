"""How far the free GPUs fall short of a gang: too few of them, or enough and nowhere together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scheduler.core.board import Board
from scheduler.core.ground import Ground
from scheduler.core.ladder import Wanted
from scheduler.core.layout import Query
from scheduler.core.model import Fact, Facts, Node
from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason
from scheduler.core.tree import Bools, Depth, Ints, Tree


class Short(NamedTuple):
    """The nodes of one type that may serve it, and what is free there."""

    ground: Ground
    query: Query
    free: Ints  # by position; 0 where it may not go
    most: int  # in one cluster


def shortage(board: Board, wanted: Wanted, policy: Policy) -> tuple[Reason, Facts]:
    """Of several types the one with the most free GPUs in one cluster: it lacks the least."""
    query = board.layout.query(
        wanted.request, wanted.gpus, tier=wanted.tier, policy=policy, relaxed=wanted.relaxed
    )
    short = max((_short(board, ground, query) for ground in query.grounds), key=lambda one: one.most)
    numbers: dict[str, Fact] = {
        "asked": wanted.gpus,
        "nodes": wanted.request.nodes and wanted.gpus // wanted.request.per_node,
        "gpus_per_node": wanted.request.per_node,
        "gpu_type": short.ground.tree.gpu_type,
        "types": list(wanted.kinds),
        "free": short.most,
        **_where(short.ground),
    }
    if short.most < wanted.gpus:
        return Reason.FULL, numbers | _barred(board, short, wanted)
    return Reason.SCATTERED, numbers | _split(board, short, wanted)


def _short(board: Board, ground: Ground, query: Query) -> Short:
    free = _free(board, ground.tree) * ground.able
    return Short(ground, query, free, int(_by_cluster(ground.tree, free).max()))


def _free(board: Board, tree: Tree) -> Ints:
    counts: Ints = board.free[tree.rows].sum(axis=1, dtype=np.int64)
    return counts


def _by_cluster(tree: Tree, free: Ints) -> Ints:
    level = tree.levels[Depth.CLUSTER]
    return np.bincount(level.domain, weights=free, minlength=len(level)).astype(np.int64)


def _where(ground: Ground) -> dict[str, Fact]:
    """The narrowest name for where all nodes stand that may serve it: their pool, else their cluster."""
    nodes = [ground.tree.nodes[position] for position in _examples(ground)]
    clusters, pools = sorted({node.cluster for node in nodes}), {node.pool for node in nodes}
    return {
        "pool": pools.pop() if len(clusters) == len(pools) == 1 else "",
        "cluster": clusters[0] if len(clusters) == 1 else "",
        "clusters": len(clusters),
    }


def _examples(ground: Ground) -> list[int]:
    """One able node for each cluster and pool: thousands of nodes stand in a few of them."""
    able = np.flatnonzero(ground.able)
    pools, number = np.unique(ground.field.pool[able], return_inverse=True)
    both = ground.tree.levels[Depth.CLUSTER].domain[able] * len(pools) + number
    return [int(position) for position in able[np.unique(both, return_index=True)[1]]]


def _barred(board: Board, short: Short, wanted: Wanted) -> dict[str, Fact]:
    """Free GPUs of the type that one of its wishes rules out, and which wishes those are."""
    every = _free(board, short.ground.tree)
    barred = int(every.sum() - short.free.sum())
    if not barred:
        return {}
    free = [short.ground.tree.nodes[position] for position in np.flatnonzero(every)]
    return {"barred": barred, "barred_by": list(dict.fromkeys(_bars(free, short.ground, wanted)))}


def _bars(free: Sequence[Node], ground: Ground, wanted: Wanted) -> Sequence[str]:
    asked, request = ground.traits, wanted.request
    lacking = [f"the feature {name}" for name in sorted(request.features) if _any_lacks(free, name)]
    pools = {node.pool for node in free}
    found = {
        f"the pool {request.pool}": bool(request.pool) and pools != {request.pool},
        "pools that are not kept for others": bool(pools.intersection(asked.closed)),
        "whole GPUs": any(node.sliced and node.pool not in asked.sharing for node in free),
        "enough GPU memory": any((node.gpu_memory_gib or np.inf) < request.gpu_memory_gib for node in free),
        "steady nodes": not asked.spot and any(node.spot for node in free),
    }
    return [*lacking, *(name for name, holds in found.items() if holds)]


def _any_lacks(nodes: Sequence[Node], feature: str) -> bool:
    return any(feature not in node.features for node in nodes)


def _split(board: Board, short: Short, wanted: Wanted) -> dict[str, Fact]:
    """Why so many are not enough: by node, by group, by what goes with them, by domain, or by spot."""
    reach = short.query.reach
    level = {"level": "" if reach is Depth.CLUSTER else reach.word}
    if wanted.request.nodes or reach is Depth.NODE:
        found = _by_node(board, short, wanted)
    else:
        found = _by_group(board, short, wanted) or _by_domain(board, short, wanted)
    return level | (found or {"split": "spot", "spot_most": short.query.spot})


def _by_node(board: Board, short: Short, wanted: Wanted) -> dict[str, Fact] | None:
    tally, each = board.tally(short.ground), wanted.request.per_node or wanted.gpus
    nodes = wanted.gpus // each
    if nodes == 1:
        largest = tally.most_free(Depth.NODE)
        return {"split": "node", "gpus_per_node": each, "largest": largest} if largest < each else None
    fitting = tally.most_nodes(short.query.reach, each)
    return {"split": "nodes", "fitting_nodes": fitting} if fitting < nodes else None


def _by_group(board: Board, short: Short, wanted: Wanted) -> dict[str, Fact] | None:
    grouped = _grouped(board, short.ground) * short.ground.able
    whole = int(_by_cluster(short.ground.tree, grouped).max())
    if whole < wanted.gpus:
        return {"split": "groups", "tp": short.ground.traits.tp, "largest": whole}
    most = board.tally(short.ground).most_free(Depth.CLUSTER)
    return {"split": "beside", "largest": most} if most < wanted.gpus else None


def _by_domain(board: Board, short: Short, wanted: Wanted) -> dict[str, Fact] | None:
    """The domain that could give the most, and how much that is."""
    tree, depth = short.ground.tree, short.query.reach
    free = board.tally(short.ground).free[depth]
    best = int(free.argmax())
    if free[best] >= wanted.gpus:
        return None
    node = tree.nodes[tree.levels[depth].span[best]]
    where = {Depth.RACK: node.rack, Depth.BLOCK: node.block}.get(depth, node.cluster)
    return {"split": "level", "largest": int(free[best]), "largest_in": where}


def _grouped(board: Board, ground: Ground) -> Ints:
    """By position: the free GPUs that are in whole tensor-parallel groups."""
    plain = board.layout.ground(ground.tree.gpu_type, ground.traits._replace(per_gpu=(0, 0, 0)))
    free: Bools = board.free[ground.tree.rows, : ground.field.slots]
    return plain.rooms(free, np.zeros_like(ground.field.capacity))


def lever(board: Board, wanted: Wanted, policy: Policy) -> dict[str, Fact]:
    """The smallest change with which it would start on this board: a wish for a must, or at most half fewer GPUs."""
    request = wanted.request
    if request.level and request.required is wanted.relaxed:  # who prefers it and is not relaxed may hope
        wishing = wanted._replace(request=replace(request, required=False), relaxed=True)
        if wishing.fits(board, policy):
            return {"fits_preferred": request.level}
    fewer = _fewer(board, wanted, policy)
    if not fewer or 2 * fewer < wanted.gpus:
        return {}
    nodes = fewer // request.per_node if request.nodes > 1 else request.nodes
    smaller = wanted._replace(request=replace(request, gpus=fewer, nodes=nodes, min_gpus=0), gpus=fewer)
    return {"fits_gpus": fewer, "fits_nodes": nodes} if smaller.fits(board, policy) else {}


def _fewer(board: Board, wanted: Wanted, policy: Policy) -> int:
    """The most GPUs that it could have there, in the shape it asks for."""
    query = board.layout.query(
        wanted.request, wanted.gpus, tier=wanted.tier, policy=policy, relaxed=wanted.relaxed
    )
    each, tallies = wanted.request.per_node, [board.tally(ground) for ground in query.grounds]
    if wanted.request.nodes > 1:
        return each * max(tally.most_nodes(query.reach, each) for tally in tallies)
    depth = Depth.NODE if wanted.request.nodes else query.reach
    return max(tally.most_free(depth) for tally in tallies)
