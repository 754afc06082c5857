"""Which nodes may serve a request, and how many GPUs each of them can give it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler.core.field import Field, thousandths
from scheduler.core.model import Request, Tier
from scheduler.core.policy import Policy
from scheduler.core.tree import Bools, Ints


class Traits(NamedTuple):
    """What of a request decides where it may run, whatever its size; many requests share one."""

    tp: int
    pool: str
    features: frozenset[str]
    gpu_memory_gib: float
    per_gpu: tuple[int, int, int]  # CPUs, memory and scratch of each GPU, in thousandths
    spot: bool
    closed: tuple[str, ...]  # pools that are kept for others
    own: tuple[str, ...]  # pools that are kept for it
    sharing: tuple[str, ...]  # pools where it may take slices


def per_gpu(request: Request) -> tuple[int, int, int]:
    """CPUs, memory and scratch that go with each of its GPUs, in thousandths."""
    if not (request.cpus_per_gpu or request.memory_gib_per_gpu or request.scratch_gib_per_gpu):
        return (0, 0, 0)
    return (
        thousandths(request.cpus_per_gpu),
        thousandths(request.memory_gib_per_gpu),
        thousandths(request.scratch_gib_per_gpu),
    )


def traits(request: Request, tier: Tier, policy: Policy, *, spot: bool) -> Traits:
    """Production has pools of its own and takes no slices; a slice is taken only by who names its type."""
    production = tier is Tier.PRODUCTION
    return Traits(
        tp=request.tp,
        pool=request.pool,
        features=request.features,
        gpu_memory_gib=request.gpu_memory_gib,
        per_gpu=per_gpu(request),
        spot=spot,
        closed=() if production else policy.production_pools,
        own=policy.production_pools if production else (),
        sharing=policy.sharing_pools if request.gpu_types and not production else (),
    )


def alone(known: Traits) -> Traits:
    """The same for GPUs in any groups, with nothing beside them: whoever has no place there has none at all."""
    return known._replace(tp=1, per_gpu=(0, 0, 0))


class Ground:
    """The nodes of one type that may serve requests of the same traits."""

    def __init__(self, number: int, field: Field, traits: Traits, coarse: "Ground | None" = None) -> None:
        """`coarse`: the same nodes for requests that ask for GPUs alone; None = this is that one."""
        self.number = number
        self.coarse = coarse
        self.field = field
        self.tree = field.tree
        self.traits = traits
        self.able: Bools = _able(field, traits) if coarse is None else coarse.able
        self.rank: Ints = _rank(field, traits, self.able) if coarse is None else coarse.rank
        self.stages = int(self.rank.max()) + 1
        self._plain = traits.tp == 1 and not any(traits.per_gpu)
        empty = self.rooms(field.exists, None)
        # The sizes that a whole node may have here, largest first.
        self.widths: list[int] = np.flatnonzero(np.bincount(empty[self.able]))[::-1].tolist()
        if 0 in self.widths:
            self.widths.remove(0)

    def among(self, stage: int, spot: bool | None = None) -> Bools:
        """The nodes up to a stage; only spot nodes or only steady ones where asked."""
        nodes = self.able & (self.rank <= stage)
        return nodes if spot is None else nodes & (self.field.spot == spot)

    def rooms(self, free: Bools, taken: Ints | None) -> Ints:
        """By position: GPUs in whole groups for which CPUs, memory and scratch are left; `taken` is by row."""
        tp = self.traits.tp
        if tp == 1:
            room = _counts(free)
        else:
            of_slot, position = self.field.domains
            counts = np.bincount(of_slot[free], minlength=len(position)) // tp * tp
            room = np.bincount(position, weights=counts, minlength=len(free)).astype(np.int64)
        for kind, each in enumerate(self.traits.per_gpu):
            if each:
                left = self.field.capacity[kind]
                if taken is not None:
                    left = np.maximum(left - taken[kind].take(self.tree.rows), 0)
                np.minimum(room, left // each // tp * tp, out=room)
        return room

    def room(self, position: int, free: Sequence[bool], taken: Sequence[int]) -> int:
        """The same for one node."""
        if self._plain:
            return sum(free)
        tp = self.traits.tp
        if self.field.linked[position]:
            room = sum(free) // tp * tp
        else:
            counts: dict[int, int] = {}
            for link, is_free in zip(self.tree.nodes[position].nvlink, free, strict=False):
                counts[link] = counts.get(link, 0) + is_free
            room = sum(count // tp * tp for count in counts.values())
        for each, most, used in zip(self.traits.per_gpu, self.field.most[position], taken, strict=True):
            if each:
                room = min(room, max(most - used, 0) // each // tp * tp)
        return room


def _counts(free: Bools) -> Ints:
    """By row; bits packed across rows are counted thirty times as fast as a sum over short rows."""
    rows, slots = free.shape
    if slots % 8:
        padded = np.zeros((rows, -(-slots // 8) * 8), dtype=np.bool_)
        padded[:, :slots] = free
        free = padded
    packed = np.bitwise_count(np.packbits(free)).reshape(rows, -1)
    return packed[:, 0].astype(np.int64) if packed.shape[1] == 1 else packed.sum(axis=1, dtype=np.int64)


def _able(field: Field, traits: Traits) -> Bools:
    able: Bools = field.memory >= traits.gpu_memory_gib
    if traits.pool:
        able &= field.pool == traits.pool
    if traits.closed:
        able &= ~np.isin(field.pool, traits.closed)
    if not traits.spot:
        able &= ~field.spot
    if field.sliced.any():
        able &= ~field.sliced | np.isin(field.pool, traits.sharing)
    for feature in sorted(traits.features):
        able &= field.has(feature)
    return able


def _rank(field: Field, traits: Traits, able: Bools) -> Ints:
    """What is used first, from 0: sound nodes before lemons, steady before spot, own pools before others."""
    foreign = ~np.isin(field.pool, traits.own) if traits.own else np.zeros_like(able)
    rough: Ints = field.lemon * 4 + field.spot * 2 + foreign
    known = np.bincount(rough[able]) > 0
    dense: Ints = known.cumsum() - 1
    return dense[np.minimum(rough, len(dense) - 1)] if len(dense) else np.zeros_like(rough)
