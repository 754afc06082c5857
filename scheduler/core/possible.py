"""Whether a job could ever run here: on the known cluster, healthy and empty, inside its team's quota."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler.core.board import Board
from scheduler.core.model import Facts, Job, Snapshot, Team, Verdict
from scheduler.core.quota import Books
from scheduler.core.reasons import Reason
from scheduler.core.tree import trees


def impossible(job: Job, snap: Snapshot) -> Verdict | None:
    """The refusal for a request that can never run here, or None; a plan would say the same.

    Needs only the nodes and the teams of the snapshot.
    """
    empty, books = Board(trees(snap.nodes), every_slot(snap)), Books(snap.teams, ())
    if able_kinds(job, empty, books):
        return None
    return Verdict(job.id, job.version, Reason.IMPOSSIBLE, obstacle(job, empty, books), 0, 0)


def every_slot(snap: Snapshot) -> NDArray[np.bool_]:
    """What would be free if every node were healthy and empty."""
    every = np.zeros(snap.free.shape, dtype=np.bool_)
    for row, node in enumerate(snap.nodes):
        every[row, : len(node.nvlink)] = [domain >= 0 for domain in node.nvlink]
    return every


def able_kinds(job: Job, empty: Board, books: Books) -> tuple[str, ...]:
    """The accepted GPU types that could hold the whole job one day, by shape and by quota."""
    return tuple(kind for kind in _shaped(job, empty) if books.too_small(job.team, kind, job.gpus) is None)


def obstacle(job: Job, empty: Board, books: Books) -> Facts:
    """What stands in the way for good of a job that no GPU type could ever hold."""
    accepted = [kind for kind in empty.tallies if job.gpu_type in ("", kind)]
    if not accepted:
        return {"kind": "type", "gpu_type": job.gpu_type, "types": list(empty.tallies)}
    walls = [(kind, books.too_small(job.team, kind, job.gpus)) for kind in _shaped(job, empty)]
    if not walls:
        return _wrong_shape(job, accepted, empty)
    return _small_quota(job, [(kind, wall) for kind, wall in walls if wall is not None])


def _shaped(job: Job, empty: Board) -> list[str]:
    accepted = (kind for kind in empty.tallies if job.gpu_type in ("", kind))
    return [kind for kind in accepted if empty.holds(kind, job.nodes, job.gpus_per_node)]


def _wrong_shape(job: Job, accepted: Sequence[str], empty: Board) -> Facts:
    shape: Facts = {"gpu_type": job.gpu_type, "nodes": job.nodes, "gpus_per_node": job.gpus_per_node}
    largest = max(empty.tallies[kind].tree.width for kind in accepted)
    if job.gpus_per_node > largest:
        return {"kind": "node", **shape, "largest": largest}
    most = max(empty.tallies[kind].most_nodes(job.gpus_per_node) for kind in accepted)
    return {"kind": "nodes", **shape, "most_nodes": most}


def _small_quota(job: Job, walls: Sequence[tuple[str, Team]]) -> Facts:
    """Name the most generous type: the others forbid it all the more."""
    kind, wall = max(walls, key=lambda found: found[1].nominal[found[0]])
    nominal = wall.nominal[kind]
    return {"kind": "quota", "asked": job.gpus, "gpu_type": kind, "team": wall.name, "nominal": nominal}
