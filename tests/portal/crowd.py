"""A crowded cluster made in bulk: thousands of nodes, running jobs and waiting ones, without playing their lives."""

from datetime import datetime, timedelta

import psycopg
from django.db import connection

from portal.accounts.models import Membership, Team, User
from portal.cluster.models import Gpu, Node, Pool
from portal.jobs.models import Hold, Job, Run, Seat

GPUS = 8
PER_RACK = 16
TIERS = ("production", "standard", "opportunistic")


def nodes(pool: Pool, count: int, *, now: datetime) -> list[Node]:
    """Approved, heard just now, eight GPUs each, sixteen to a rack."""
    made = Node.objects.bulk_create(
        Node(
            pool=pool, name=f"c{number:05}", gpu_type="H100", block=f"b{number // (8 * PER_RACK)}",
            rack=f"r{number // PER_RACK:04}", cpus=96, memory_mib=1_048_576, claim_digest="0" * 64,
            approved_at=now, last_seen_at=now, address="10.0.0.1",
        )
        for number in range(count)
    )  # fmt: skip
    Gpu.objects.bulk_create(
        [
            Gpu(node=node, slot=slot, uuid=f"GPU-{node.name}-{slot}", name="H100", memory_mib=81_559)
            for node in made
            for slot in range(GPUS)
        ],
        batch_size=4_000,
    )
    return made


def people(teams: int, each: int) -> list[tuple[Team, User]]:
    """So many teams with so many members each."""
    found = []
    for team in Team.objects.bulk_create(Team(name=f"team-{number}") for number in range(teams)):
        users = User.objects.bulk_create(
            User(email=f"u{number}@{team.name}.example.org", full_name=f"User {number}")
            for number in range(each)
        )
        Membership.objects.bulk_create(Membership(user=user, team=team) for user in users)
        found += [(team, user) for user in users]
    return found


def waiting(owners: list[tuple[Team, User]], count: int, *, now: datetime) -> list[Job]:
    """Jobs of many shapes, some with limits."""
    return Job.objects.bulk_create(
        [_job(owners, number, now - timedelta(seconds=count - number)) for number in range(count)],
        batch_size=2_000,
    )


def _job(owners: list[tuple[Team, User]], number: int, at: datetime) -> Job:
    team, user = owners[number % len(owners)]
    wide = number % 5 == 0
    return Job(
        name=f"job {number}", team=team, user=user, tier=TIERS[number % 3], command="python train.py",
        nodes=1 + number % 7 if wide else 1, gpus_per_node=GPUS if wide else 1 + number % GPUS,
        gpu_type="H100" if number % 2 else "", limit_s=3_600 * (1 + number % 48) if number % 3 else None,
        submitted_at=at,
    )  # fmt: skip


def running(owners: list[tuple[Team, User]], places: list[Node], *, now: datetime) -> list[Run]:
    """One job of eight GPUs on each of these nodes, an hour old."""
    began = now - timedelta(hours=1)
    jobs = Job.objects.bulk_create(
        Job(
            name=f"run {number}", team=owners[number % len(owners)][0], user=owners[number % len(owners)][1],
            tier=TIERS[number % 3], command="python train.py", nodes=1, gpus_per_node=GPUS, phase="running",
            submitted_at=began, limit_s=7_200 if number % 2 else None,
        )
        for number in range(len(places))
    )  # fmt: skip
    runs = Run.objects.bulk_create(
        Run(job=job, epoch=1, phase="running", created_at=began, started_at=began) for job in jobs
    )
    pairs = list(zip(runs, places, strict=True))
    Seat.objects.bulk_create(
        Seat(run=run, node=node, node_rank=0, spec={"ranks": []}, digest="0", phase="running")
        for run, node in pairs
    )
    gpus: dict[int, list[int]] = {}
    for node, gpu in Gpu.objects.filter(node__in=places).values_list("node_id", "pk"):
        gpus.setdefault(node, []).append(gpu)
    held = [Hold(run=run, gpu_id=gpu, held_from=began) for run, node in pairs for gpu in gpus[node.pk]]
    Hold.objects.bulk_create(held, batch_size=4_000)
    return runs


def past(owners: list[tuple[Team, User]], gpus: list[Gpu], rounds: int, *, now: datetime) -> None:
    """Jobs of eight GPUs that ran one after the other, an hour each, and are over."""
    for number in range(rounds):
        end = now - timedelta(hours=number, seconds=1)
        begin = end - timedelta(minutes=59)
        groups = [gpus[first : first + GPUS] for first in range(0, len(gpus), GPUS)]
        jobs = Job.objects.bulk_create(
            Job(
                name="past", team=owners[(number + place) % len(owners)][0],
                user=owners[(number + place) % len(owners)][1], command="true", nodes=1, gpus_per_node=GPUS,
                phase="finished", submitted_at=begin, ended_at=end,
            )
            for place in range(len(groups))
        )  # fmt: skip
        runs = Run.objects.bulk_create(
            Run(
                job=job,
                epoch=1,
                phase="ended",
                cause="finished",
                created_at=begin,
                started_at=begin,
                ended_at=end,
            )
            for job in jobs
        )
        Hold.objects.bulk_create(
            Hold(run=run, gpu=gpu, held_from=begin, released_at=end)
            for run, mine in zip(runs, groups, strict=True)
            for gpu in mine
        )


def seen_empty() -> None:
    """As when autovacuum looks while a burst is not committed yet: PostgreSQL believes that the tables are empty."""
    with psycopg.connect(**connection.get_connection_params() | {"autocommit": True}) as other:
        other.execute("ANALYZE")
