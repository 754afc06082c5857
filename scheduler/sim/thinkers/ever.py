"""Whether a job could ever run here by the core's rules, and if not why, in one sentence."""

from dataclasses import replace
from functools import cached_property

from scheduler.core.model import Facts, Job, Snapshot, Tier
from scheduler.core.policy import Policy
from scheduler.core.possible import Possible
from scheduler.core.quota import Books
from scheduler.core.table import Desk
from scheduler.sim.site import Site
from scheduler.sim.thinkers import never
from scheduler.sim.thinkers.terrain import healthy
from scheduler.sim.thinkers.wording import teams_of
from scheduler.sim.workload import Ask
from scheduler.sim.world import World


class Ever:
    """The core's answer for the cluster when every machine is well: worked out once for each kind of job."""

    def __init__(self, world: World) -> None:
        self._world, desk = world, Desk()
        teams = teams_of(world.site.cluster.crews)
        desk.clear_for(Snapshot(0.0, healthy(world.site), world.site.exists.copy(), teams=teams))
        self._possible = Possible(desk.layout, Books(desk.lineage, desk.capacity), world.policy)

    def why_not(self, job: Job) -> str:
        """What stands in its way for good; "" = nothing does."""
        facts = self._possible.obstacle(job)
        if facts is None:
            return ""
        return _by_rule(facts, self._world.policy) or self._by_place(facts, self._world.asks[job.id])

    def _by_place(self, facts: Facts, ask: Ask) -> str:
        """What the cluster lacks, or what of it is closed to the job."""
        site = self._world.site
        if why := never.obstacle(site, ask):
            return why
        if facts["kind"] == "kept":
            return f"is a {ask.tier.word} job; every node that would do is in a pool kept for production"
        if ask.tier is not Tier.PRODUCTION and (why := never.obstacle(self._open, ask)):
            return f"{why}, outside the pools kept for production"
        return never.sentence(site, ask)

    @cached_property
    def _open(self) -> Site:
        """The machines that are for everybody."""
        kept, cluster = self._world.policy.production_pools, self._world.site.cluster
        machines = tuple(machine for machine in cluster.machines if machine.pool not in kept)
        return Site(replace(cluster, machines=machines))


def _by_rule(facts: Facts, policy: Policy) -> str:
    """The sentence for what a quota or the policy forbids; "" where the cluster itself is too small."""
    match facts["kind"]:
        case "quota":
            return _too_much(facts)
        case "firm":
            promise_s = policy.return_promise_s
            return f"{_too_much(facts)} without a loan, and this one would not be back within {promise_s:g} s"
        case "duration":
            return f"has a limit of {facts['limit_s']} s; {facts['tier']} jobs may have at most {facts['most_s']} s"
        case "pool":
            return f"needs the pool {facts['pool']}; it is kept for production"
        case "jobs":
            return f"is a {facts['tier']} job; the policy lets nobody run any"
        case "peak":
            return f"needs {facts['asked']} GPUs; at every hour those who need {facts['gpus']} and more must wait"
        case "spot":
            return f"may have at most {facts['most']} of its {facts['asked']} GPUs on spot nodes; there are too few others"
        case _:
            return ""


def _too_much(facts: Facts) -> str:
    asked = f"needs {facts['asked']} {facts['gpu_type']}"
    return f"{asked}; team {facts['team']} may hold at most {facts['most']}"
