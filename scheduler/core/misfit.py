"""Why not even the empty, healthy cluster holds a gang: the first of its wishes that nothing can meet."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scheduler.core.board import Board
from scheduler.core.ground import Ground, Traits, traits
from scheduler.core.model import Fact, Facts, Request, Tier
from scheduler.core.policy import Policy
from scheduler.core.shapes import reach
from scheduler.core.tree import Bools, Depth

BESIDE = ("CPUs", "memory", "scratch disk")  # in the order of Traits.per_gpu
Found = Facts | None


class Wish(NamedTuple):
    """A gang of one size that no accepted type holds."""

    empty: Board
    request: Request
    gpus: int
    tier: Tier
    policy: Policy
    kinds: Sequence[str]  # accepted and here

    @property
    def traits(self) -> Traits:
        """What it asks of a node."""
        return traits(self.request, self.tier, self.policy, spot=self.spot > 0)

    @property
    def spot(self) -> int:
        """GPUs that may sit on spot nodes."""
        return self.empty.layout.query(
            self.request, self.gpus, tier=self.tier, policy=self.policy, relaxed=True
        ).spot

    @property
    def each(self) -> int:
        """The GPUs that one of its nodes must give."""
        alone = reach(self.request, relaxed=True) is Depth.NODE
        return self.request.per_node or (self.gpus if alone else self.request.tp)

    def grounds(self, known: Traits) -> list[Ground]:
        """The nodes of each accepted type under these traits."""
        return [self.empty.layout.ground(kind, known) for kind in self.kinds]

    def fits(self, **otherwise: object) -> bool:
        """Whether it would fit if it asked for something else."""
        request = replace(self.request, gpu_types=tuple(self.kinds), **otherwise)  # type: ignore[arg-type]  # by name
        return self.empty.holds(request, tier=self.tier, policy=self.policy, gpus=self.gpus)

    def told(self, kind: str, **more: Fact) -> Facts:
        """The numbers that every such answer has, and its own."""
        return {
            "kind": kind,
            "asked": self.gpus,
            "nodes": self.request.nodes,
            "gpus_per_node": self.each,
            "gpu_type": " or ".join(self.request.gpu_types),
            **more,
        }


def misfit(wish: Wish) -> Facts:
    """Ask wish by wish, those that look at single nodes first; the last question always has an answer."""
    questions: tuple[Callable[[Wish], Found], ...] = (_no_node, _node_too_small, _too_few_steady, _domain)
    found = next((facts for question in questions if (facts := question(wish)) is not None), None)
    return found or _too_few(wish)


def _no_node(wish: Wish) -> Found:
    """The first wish that leaves no node at all, added one after the other."""
    asked = wish.traits
    pools = tuple(sorted({str(pool) for ground in wish.grounds(asked) for pool in ground.field.pool}))
    nothing = Traits(1, "", frozenset(), 0.0, (0, 0, 0), True, (), (), pools)
    for facts, known in _narrowing(wish, nothing, asked):
        if not any(ground.able.any() for ground in wish.grounds(known)):
            return facts
    return None


def _narrowing(wish: Wish, known: Traits, asked: Traits) -> Iterator[tuple[Facts, Traits]]:
    pools = sorted({str(pool) for ground in wish.grounds(known) for pool in ground.field.pool})
    known = known._replace(sharing=asked.sharing)
    yield wish.told("slices"), known
    known = known._replace(pool=asked.pool)
    open_to_it = [pool for pool in pools if pool not in asked.closed]
    yield wish.told("elsewhere", pool=asked.pool, pools=open_to_it), known
    known = known._replace(closed=asked.closed)
    yield wish.told("kept", tier=wish.tier.word), known
    known = known._replace(features=asked.features)
    yield wish.told("features", features=sorted(asked.features)), known
    largest = _most_memory(wish, known)
    known = known._replace(gpu_memory_gib=asked.gpu_memory_gib)
    yield wish.told("memory", asked_gib=_gib(asked.gpu_memory_gib), largest_gib=largest), known
    yield wish.told("spot", most=0), known._replace(spot=asked.spot)


def _gib(amount: float) -> float:
    """80.0 is written as 80."""
    return int(amount) if amount.is_integer() else amount


def _most_memory(wish: Wish, known: Traits) -> float:
    sizes = [ground.field.memory[ground.able] for ground in wish.grounds(known)]
    finite = [float(size.max()) for size in sizes if len(size) and np.isfinite(size.max())]
    return _gib(max(finite, default=0.0))


def _node_too_small(wish: Wish) -> Found:
    """Nodes are able, but none gives what one of the gang's nodes must give."""
    asked, each = wish.traits, wish.each
    domain = max(_largest_domain(ground) for ground in wish.grounds(asked))
    if asked.tp > domain:
        return wish.told("tp", tp=asked.tp, largest=domain)
    largest = max(int(ground.field.exists.sum(axis=1)[ground.able].max()) for ground in _able(wish, asked))
    if each > largest:
        return wish.told("node", largest=largest)
    grouped = _widest(wish, asked._replace(per_gpu=(0, 0, 0)))
    if each > grouped:
        return wish.told("groups", tp=asked.tp, largest=grouped)
    widest = _widest(wish, asked)
    return None if each <= widest else wish.told("beside", what=_lacking(wish, each), largest=widest)


def _able(wish: Wish, known: Traits) -> list[Ground]:
    return [ground for ground in wish.grounds(known) if ground.able.any()]


def _widest(wish: Wish, known: Traits) -> int:
    return max((ground.widths[0] for ground in wish.grounds(known) if ground.widths), default=0)


def _lacking(wish: Wish, each: int) -> str:
    """Of CPUs, memory and scratch the first that is too little alone; else all that it asks for."""
    asked = wish.traits
    for place, name in enumerate(BESIDE):
        alone = [amount if other == place else 0 for other, amount in enumerate(asked.per_gpu)]
        if _widest(wish, asked._replace(per_gpu=(alone[0], alone[1], alone[2]))) < each:
            return name
    return " and ".join(name for name, amount in zip(BESIDE, asked.per_gpu, strict=True) if amount)


def _largest_domain(ground: Ground) -> int:
    of_slot, position = ground.field.domains
    sizes = np.bincount(of_slot[ground.field.exists], minlength=len(position))
    able: Bools = ground.able[position]
    return int(sizes[able].max()) if able.any() else 0


def _too_few_steady(wish: Wish) -> Found:
    """Without the bound on spot nodes it would fit."""
    if wish.spot >= wish.gpus or not wish.fits(spot_share=1.0):
        return None
    return wish.told("spot", most=wish.spot)


def _domain(wish: Wish) -> Found:
    """Without the required level it would fit."""
    depth = reach(wish.request, relaxed=True)
    if depth is Depth.CLUSTER or not wish.fits(level=""):
        return None
    return wish.told("level", level=depth.word, **_most(wish, depth))


def _too_few(wish: Wish) -> Facts:
    if wish.request.nodes:
        return wish.told("nodes", **_most(wish, Depth.CLUSTER))
    return wish.told("gpus", **_most(wish, Depth.CLUSTER))


def _most(wish: Wish, depth: Depth) -> Mapping[str, int]:
    """The most that one domain of this level gives: GPUs, and nodes of the asked size."""
    tallies = [wish.empty.tally(ground) for ground in _able(wish, wish.traits)]
    return {
        "most": max(tally.most_free(depth) for tally in tallies),
        "most_nodes": max(tally.most_nodes(depth, wish.each) for tally in tallies),
    }
