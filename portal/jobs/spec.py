"""The spec an agent fetches for its seat: everything needed to start the ranks there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from portal.cluster.models import Gpu
from portal.jobs.models import Job, Run

GRACE_S = 10
FIRST_PORT, PORTS = 20_000, 12_000
FIRST_UID, UIDS_PER_TEAM = 2**28, 2**16  # far above accounts, and above what containers are given


@dataclass(frozen=True, slots=True)
class Place:
    """A seat with its GPUs, before it is a row."""

    node_id: int
    address: str
    gpus: Sequence[Gpu]


def spec(*, job: Job, run: Run, places: Sequence[Place], node_rank: int) -> dict[str, Any]:
    """What the agent of one seat needs to know; ranks count through the seats in order."""
    first = sum(len(place.gpus) for place in places[:node_rank])
    uid = FIRST_UID + job.team_id * UIDS_PER_TEAM + job.user_id % UIDS_PER_TEAM
    return {
        "run": run.pk,
        "job": job.pk,
        "epoch": run.epoch,
        "name": job.name,
        "team": job.team.name,
        "user": job.user.email,
        "command": job.command,
        "env": dict(job.env),
        "nodes": len(places),
        "gpus_per_node": job.gpus_per_node,
        "world_size": sum(len(place.gpus) for place in places),
        "node_rank": node_rank,
        "ranks": [
            {"rank": first + local, "local_rank": local, "slot": gpu.slot, "gpu_uuid": gpu.uuid}
            for local, gpu in enumerate(places[node_rank].gpus)
        ],
        "master_addr": places[0].address,
        # Runs that share a host, as in the demo, get ports of their own; below the ephemeral range.
        "master_port": FIRST_PORT + run.pk % PORTS,
        "uid": uid,
        "gid": uid,
        "grace_s": GRACE_S,
    }
