"""How the plain policies pick nodes for a gang: one node, an exact shape, whole nodes, or pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from scheduler.sim.site import Bools, Ints

FAR = 1 << 62
Share: TypeAlias = tuple[int, int]  # a row and how many of its GPUs


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Rows among which a gang must stay whole: of one GPU type, and inside the domain it requires."""

    rows: Ints  # in the order of names
    full: Ints  # what the job could use of each when it is empty
    spot: Bools


@dataclass(frozen=True, slots=True)
class Want:
    """How many GPUs, on how many nodes where that is asked for, and how many of them may be on spot nodes."""

    gpus: int
    nodes: int | None
    tp: int
    on_spot: int


Way: TypeAlias = Callable[[Want, Field, Ints, Ints], list[Share] | None]


def one_node(want: Want, field: Field, room: Ints, spare: Ints) -> list[Share] | None:
    """The fullest node that still fits; of equals the lowest name."""
    fits = room >= want.gpus
    if want.on_spot < want.gpus:
        fits &= ~field.spot
    left = np.where(fits, spare, FAR)
    best = int(left.argmin())
    return [(int(field.rows[best]), want.gpus)] if left[best] < FAR else None


def exact_shape(want: Want, field: Field, room: Ints, spare: Ints) -> list[Share] | None:
    """So many different nodes with the same number of GPUs on each: the fullest that fit."""
    nodes = want.nodes or 1
    each = want.gpus // nodes
    left = np.where(room >= each, spare + _late(want, field), FAR)
    chosen = np.argsort(left, kind="stable")[:nodes]
    if len(chosen) < nodes or left[chosen[-1]] == FAR:
        return None
    return _within(want, field, [(position, each) for position in sorted(chosen.tolist())])


def whole_nodes(want: Want, field: Field, room: Ints, spare: Ints) -> list[Share] | None:
    """Whole free nodes, the largest first, with the remainder on the freest other node."""
    if int(room.sum()) < want.gpus:
        return None
    whole = np.flatnonzero(room == field.full)
    whole = whole[np.argsort((_late(want, field) - field.full)[whole], kind="stable")]
    largest = int(field.full.max(initial=0))
    taken: list[Share] = []
    rest = want.gpus
    for position in whole.tolist():
        if rest < largest and (last := _freest(room, taken, rest)) is not None:
            return _within(want, field, [*taken, (last, rest)])
        size = int(field.full[position])
        if size <= rest:
            taken.append((position, size))
            rest -= size
        if not rest:
            return _within(want, field, taken)
    last = _freest(room, taken, rest)
    return None if last is None else _within(want, field, [*taken, (last, rest)])


def pieces(want: Want, field: Field, room: Ints, spare: Ints) -> list[Share] | None:
    """Anything goes, the freest nodes first: where unequal nodes hold a gang in no tidier way."""
    on_spot = want.on_spot // want.tp * want.tp
    taken: list[Share] = []
    rest = want.gpus
    for position in np.argsort(_late(want, field) - room, kind="stable").tolist():
        most = min(rest, int(room[position]), on_spot if field.spot[position] else rest)
        if most:
            taken.append((position, most))
            rest -= most
            on_spot -= most if field.spot[position] else 0
        if not rest:
            return _named(field, taken)
    return None


def _late(want: Want, field: Field) -> Ints:
    """Spot nodes come last where only a share of the gang may sit on them."""
    return np.where(field.spot & (want.on_spot < want.gpus), FAR >> 1, 0)


def _freest(room: Ints, taken: list[Share], gpus: int) -> int | None:
    """The position with the most room that is not taken and has enough of it."""
    others = room.copy()
    others[[position for position, _ in taken]] = -1
    best = int(others.argmax())
    return best if others[best] >= gpus else None


def _within(want: Want, field: Field, taken: list[Share]) -> list[Share] | None:
    """The choice by rows, unless it puts too much on spot nodes."""
    spot = sum(gpus for position, gpus in taken if field.spot[position]) if want.on_spot < want.gpus else 0
    return _named(field, taken) if spot <= want.on_spot else None


def _named(field: Field, taken: list[Share]) -> list[Share]:
    return [(int(field.rows[position]), gpus) for position, gpus in taken]
