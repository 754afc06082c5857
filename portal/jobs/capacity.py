"""What is free now and what teams hold of their quotas: the known facts beside a request."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Q, Sum

from portal.accounts.models import Team
from portal.cluster.models import Node
from portal.jobs.models import Hold, Job
from portal.quotas.models import Quota


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """A node that takes jobs, and how many of its GPUs nobody holds."""

    name: str
    gpu_type: str
    gpus: int
    free: int


@dataclass(frozen=True, slots=True)
class TypeRoom:
    """What there is of one GPU type: in service, free, and out of service."""

    gpu_type: str
    nodes: tuple[NodeRoom, ...]  # in service, the freest first
    out: int  # GPUs on nodes that are drained, silent or lost

    @property
    def gpus(self) -> int:
        return sum(node.gpus for node in self.nodes)

    @property
    def free(self) -> int:
        return sum(node.free for node in self.nodes)

    @property
    def largest(self) -> int:
        """The most GPUs free in one node."""
        return self.nodes[0].free if self.nodes else 0

    @property
    def with_some(self) -> tuple[NodeRoom, ...]:
        return tuple(node for node in self.nodes if node.free)

    def fitting(self, per_node: int) -> int:
        """How many nodes could seat that many ranks now."""
        return sum(node.free >= per_node for node in self.nodes)


def rooms(*, now: datetime, gpu_type: str = "") -> list[TypeRoom]:
    """Every type, or one, in two queries."""
    taken = Hold.objects.filter(released_at=None).values_list("gpu__node").annotate(n=Count("pk"))
    held: dict[int, int] = dict(taken.values_list("gpu__node", "n"))
    nodes = Node.objects.filter(approved_at__isnull=False)
    if gpu_type:
        nodes = nodes.filter(gpu_type=gpu_type)
    nodes = nodes.annotate(size=Count("gpus", filter=Q(gpus__retired_at=None)))
    ready: dict[str, list[NodeRoom]] = {}
    out: Counter[str] = Counter()
    for node in nodes.only("name", "gpu_type", "approved_at", "lost_at", "drained_at", "last_seen_at"):
        found = ready.setdefault(node.gpu_type, [])
        if node.state(now) == Node.State.READY:
            free = max(0, node.size - held.get(node.pk, 0))
            found.append(NodeRoom(node.name, node.gpu_type, node.size, free))
        else:
            out[node.gpu_type] += node.size
    return [
        TypeRoom(kind, tuple(sorted(found, key=lambda node: (-node.free, node.name))), out[kind])
        for kind, found in sorted(ready.items())
    ]


@dataclass(frozen=True, slots=True)
class Level:
    """A team on the way up the tree, and what it holds of one type against its quota."""

    team: str
    gpu_type: str
    nominal: int
    held: int
    borrow: int | None = 0  # None: without limit

    @property
    def left(self) -> int:
        return max(0, self.nominal - self.held)

    @property
    def limit(self) -> int | None:
        """What it may hold with all that it may borrow."""
        return None if self.borrow is None else self.nominal + self.borrow

    @property
    def borrowed(self) -> int:
        return max(0, self.held - self.nominal)


def levels(team_ids: Iterable[int], gpu_types: Sequence[str] = ()) -> dict[int, list[Level]]:
    """For each team the quotas that bind it: its own, then those of the teams above; three queries."""
    teams = {team.pk: team for team in Team.objects.all()}
    lines = {pk: _upwards(pk, teams) for pk in teams}
    held: Counter[tuple[int, str]] = Counter()
    taken = Hold.objects.filter(released_at=None).values("run__job__team", "gpu__node__gpu_type")
    for team, kind, gpus in taken.annotate(n=Count("pk")).values_list(
        "run__job__team", "gpu__node__gpu_type", "n"
    ):
        for above in lines[team]:
            held[above, kind] += gpus
    nominal: dict[int, list[Quota]] = {}
    for quota in Quota.objects.order_by("gpu_type"):
        nominal.setdefault(quota.team_id, []).append(quota)
    return {
        pk: [
            Level(teams[above].name, quota.gpu_type, quota.nominal, held[above, quota.gpu_type], quota.borrow)
            for above in lines[pk]
            for quota in nominal.get(above, ())
            if not gpu_types or quota.gpu_type in gpu_types
        ]
        for pk in team_ids
    }


def _upwards(team: int, teams: dict[int, Team]) -> list[int]:
    line = [team]
    while (above := teams[line[-1]].parent_id) is not None and above not in line:
        line.append(above)
    return line


def waiting(*, gpu_type: str, tiers: Sequence[str]) -> tuple[int, int]:
    """How many jobs of these tiers wait for GPUs that this type could be, and for how many."""
    jobs = Job.objects.filter(phase=Job.Phase.WAITING, tier__in=tiers)
    if gpu_type:
        jobs = jobs.filter(gpu_type__in=(gpu_type, ""))
    found = jobs.aggregate(jobs=Count("pk"), gpus=Sum(F("nodes") * F("gpus_per_node")))
    return found["jobs"], found["gpus"] or 0
