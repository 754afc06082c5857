"""Whether a job could ever run here by the core's rules, and if not why, in one sentence."""

from scheduler.core.model import Facts, Job, Snapshot
from scheduler.core.possible import Possible
from scheduler.core.quota import Books
from scheduler.core.table import Desk
from scheduler.sim.thinkers import never
from scheduler.sim.thinkers.terrain import healthy
from scheduler.sim.thinkers.wording import teams_of
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
        return _by_rule(facts) or never.sentence(self._world.site, self._world.asks[job.id])


def _by_rule(facts: Facts) -> str:
    """The sentence for what a quota or the policy forbids; "" where the cluster itself is too small."""
    match facts["kind"]:
        case "quota":
            return f"needs {facts['asked']} {facts['gpu_type']}; team {facts['team']} may hold at most {facts['most']}"
        case "duration":
            return f"has a limit of {facts['limit_s']} s; {facts['tier']} jobs may have at most {facts['most_s']} s"
        case "pool":
            return f"needs the pool {facts['pool']}; it is kept for production"
        case "jobs":
            return f"is a {facts['tier']} job; the policy lets nobody run any"
        case "peak":
            return f"needs {facts['asked']} GPUs; at every hour those who need {facts['gpus']} and more must wait"
        case _:
            return ""
