"""The stage the portal's tests play on: a small cluster, a tree of teams, people of every role, and time."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from portal.accounts.models import Membership, Team, User
from portal.agents.hearing import hear, still_listening
from portal.cluster import actions as cluster
from portal.cluster.models import Cluster, Node, Pool
from portal.cycle import actions as cycle
from portal.jobs.ask import Ask
from portal.jobs.models import Hold, Job, Run
from portal.showback.models import Rate
from tests.portal.agent import PlayedAgent

PASSWORD = "correct horse"
# name: (full name, organisation-wide flag, memberships)
PEOPLE: dict[str, tuple[str, str, dict[str, str]]] = {
    "mira": ("Mira Okafor", "", {"vision": "member"}),
    "ravi": ("Ravi Anand", "", {"vision": "member"}),
    "yuki": ("Yuki Tanaka", "", {"vision": "lead"}),
    "rhea": ("Rhea Stein", "", {"research": "lead"}),
    "omar": ("Omar Lind", "", {"language": "member"}),
    "ines": ("Ines Duarte", "is_finance", {}),
    "noor": ("Noor Haddad", "is_administrator", {}),
}
TEAMS = {"research": None, "vision": "research", "language": "research"}
_hosts = itertools.count(1)


def hardware(name: str, gpus: int = 8, kind: str = "H100", rack: str = "r1") -> dict[str, Any]:
    """What an agent reports when it joins."""
    return {
        "gpus": [
            {"slot": slot, "uuid": f"GPU-{name}-{slot}", "type": kind, "name": f"NVIDIA {kind}",
             "memory_mib": 81_559, "nvlink_domain": slot // 4}
            for slot in range(gpus)
        ],
        "cpus": 96, "memory_mib": 1_048_576, "block": "b1", "rack": rack,
    }  # fmt: skip


@dataclass
class Stage:
    """Everything is made when it is first asked for; `now` only moves when a test says so."""

    now: datetime
    agents: dict[str, PlayedAgent] = field(default_factory=dict)
    people: dict[str, User] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)

    def furnish(self) -> "Stage":
        for name, parent in TEAMS.items():
            self.teams[name] = Team.objects.create(name=name, parent=self.teams.get(parent or ""))
        for name, (full_name, flag, memberships) in PEOPLE.items():
            flags = {flag: True} if flag else {}
            user = User.objects.create_user(f"{name}@example.org", PASSWORD, full_name=full_name, **flags)
            self.people[name] = user
            for team, role in memberships.items():
                Membership.objects.create(user=user, team=self.teams[team], role=role)
        Rate.objects.create(gpu_type="H100", micros_per_hour=3_600_000, valid_from=self.now)
        return self

    def pool(self) -> Pool:
        home, _ = Cluster.objects.get_or_create(name="main")
        return Pool.objects.get_or_create(cluster=home, name="train")[0]

    def add_nodes(self, *names: str, gpus: int = 8, kind: str = "H100", rack: str = "r1") -> None:
        """Nodes that joined, were approved and were heard just now."""
        for name in names:
            node = Node.objects.create(
                pool=self.pool(), name=name, address=f"10.0.0.{next(_hosts) % 250 + 1}", gpu_type="unknown",
                claim_digest="0" * 64, hardware_reported=hardware(name, gpus, kind, rack),
            )  # fmt: skip
            cluster.approve(node=node, by=None, now=self.now)
            node.refresh_from_db()
            self.agents[name] = PlayedAgent(node)
        self.beat(*names)

    def later(self, seconds: float = 1.0) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def pass_time(self, seconds: int, *, silent: Iterable[str] = ()) -> None:
        """Time goes by in steps of five seconds; everybody beats, but for the silent."""
        speaking = [name for name in self.agents if name not in set(silent)]
        for _ in range(0, seconds, 5):
            self.later(5)
            still_listening(now=self.now)
            hear([self.agents[name].beat(self.now) for name in speaking], now=self.now)

    def submit(self, name: str = "train", *, by: str = "mira", team: str = "vision", **asked: Any) -> Job:
        fields = {"tier": "standard", "command": "python train.py", "nodes": 1, "gpus_per_node": 1} | asked
        ask = Ask(name=name, team=self.teams[team], **fields)
        return cycle.submit(ask=ask, by=self.people[by], now=self.now)

    def turn(self) -> Any:
        return cycle.turn(now=self.now)

    def beat(self, *names: str) -> list[int]:
        """These agents, or all, say what they see; the portal has been listening all along."""
        still_listening(now=self.now)
        return hear([self.agents[name].beat(self.now) for name in names or self.agents], now=self.now)

    def started(self, job: Job) -> Run:
        """One turn, after which the job must have its run."""
        self.turn()
        return self.live_run(job)

    def running(self, job: Job) -> Run:
        """The job's agents start what they were ordered, and say so."""
        run = self.started(job)
        for name in self.where(run):
            self.agents[name].start(run)
        self.later()
        self.beat(*self.where(run))
        run.refresh_from_db()
        return run

    def live_run(self, job: Job) -> Run:
        return Run.objects.exclude(phase="ended").get(job=job)

    def where(self, run: Run) -> list[str]:
        """The nodes of a run in the order of their ranks."""
        return list(run.seats.order_by("node_rank").values_list("node__name", flat=True))


def held(run: Run) -> int:
    """How many GPUs the run holds now."""
    return Hold.objects.filter(run=run, released_at=None).count()


def phase(job: Job) -> str:
    return Job.objects.get(pk=job.pk).phase


def holders(gpus: Iterable[int] | None = None) -> list[tuple[int, int]]:
    """(GPU, run) of every live hold."""
    live = Hold.objects.filter(released_at=None).order_by("gpu", "run")
    return list(live.values_list("gpu_id", "run_id"))
