"""The words of a replay in the words of the core: machines, teams and what a job asks for."""

from collections.abc import Iterable

from scheduler.core.model import Node, Request, Share, Team
from scheduler.sim.workload import Ask, Crew, Machine

NOBODY = "default"  # what the files call an owner that they do not name


def user_of(ask: Ask) -> str:
    """Who asks; "" where the file names nobody, so that nobody's many jobs are not taken for one person's."""
    return "" if ask.user == NOBODY else ask.user


def request_of(ask: Ask) -> Request:
    """What decides where the job fits."""
    return Request(
        gpus=ask.gpus,
        nodes=ask.nodes or 0,
        tp=ask.tp,
        min_gpus=ask.min_gpus if ask.min_gpus < ask.gpus else 0,
        level=ask.level,
        required=ask.required,
        gpu_types=ask.gpu_types,
        pool=ask.pool,
        features=ask.features,
        gpu_memory_gib=ask.gpu_memory_gib,
        cpus_per_gpu=ask.cpus_per_gpu,
        memory_gib_per_gpu=ask.memory_gib_per_gpu,
        spot_share=ask.spot_share,
    )


def node_of(row: int, machine: Machine, *, why_not: str = "", lemon: int = 0) -> Node:
    """A machine at its row, and why it is out of use, if it is."""
    return Node(
        id=row,
        name=machine.name,
        cluster="",
        pool=machine.pool,
        block=machine.block,
        rack=machine.rack,
        gpu_type=machine.gpu_type,
        nvlink=machine.nvlink,
        usable=not why_not,
        why_not=why_not,
        gpu_memory_gib=machine.gpu_memory_gib,
        cpus=machine.cpus,
        memory_gib=machine.memory_gib,
        features=machine.features,
        spot=machine.spot,
        lemon=lemon,
    )


def teams_of(crews: Iterable[Crew] | None) -> tuple[Team, ...]:
    """The tree of teams; without one there are no limits."""
    return tuple(
        Team(crew.name, crew.parent, _quota(crew), crew.weight) for crew in (() if crews is None else crews)
    )


def _quota(crew: Crew) -> dict[str, Share]:
    return {kind: Share(share.nominal, share.borrow, share.lend) for kind, share in crew.quota.items()}
