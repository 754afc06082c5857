"""Spares: whole free nodes that are kept for gangs which lose one."""

import numpy as np

from scheduler.core.elastic import sizes
from scheduler.core.field import Field
from scheduler.core.model import Seat, Tier
from scheduler.core.recall import due_at
from scheduler.core.table import Table


def keep_spares(table: Table) -> None:
    """Of each GPU type so many, as far as they are free; not from production, nor from whose age is due."""
    most = table.policy.spare_nodes
    if not most or _urgent(table):
        return
    busy = {run.gpu_type for run in table.snap.running}
    for kind, field in table.layout.fields.items():
        spares = _spares(table, field, most)
        if kind in busy or _leave_room(table, kind, spares):
            table.spares += spares
            table.boards.take(spares)


def _leave_room(table: Table, kind: str, spares: list[Seat]) -> bool:
    """Whether somebody could start beside them: where nothing runs and nothing can, there is no gang to keep for."""
    beside = table.board.copy()
    beside.take(spares)
    return any(
        beside.holds(
            table.narrow(job.request, (kind,)),
            tier=job.tier,
            policy=table.policy,
            gpus=sizes(job.request)[0],
        )
        for job in table.waiting.values()
        if job.gate is None
        and job.id not in table.settled
        and kind in table.kinds(job, sizes(job.request)[0])
    )


def _urgent(table: Table) -> bool:
    waiting = (job for job in table.waiting.values() if job.gate is None and job.id not in table.settled)
    return any(job.tier is Tier.PRODUCTION or table.now >= due_at(job, table.policy) for job in waiting)


def _spares(table: Table, field: Field, most: int) -> list[Seat]:
    """Sound nodes at the end of the order: places are taken from its beginning, so they are seldom missed."""
    free = table.board.free[field.tree.rows, : field.slots]
    whole = (free | ~field.exists).all(axis=1) & field.exists.any(axis=1) & field.usable
    sound = np.flatnonzero(whole & ~field.spot & ~field.sliced & (field.lemon == 0))
    return [
        Seat(field.tree.nodes[position].id, tuple(np.flatnonzero(field.exists[position]).tolist()))
        for position in sound[-most:].tolist()
    ]
