"""What production could have at any moment: GPUs that are free, or held by runs that may surely be stopped for it."""

from collections import defaultdict

from tests.sim.checker.case import Case, Run
from tests.sim.checker.health import Health
from tests.sim.checker.ledger import Ledger, count, open_ledger
from tests.sim.checker.reading import NOBODY, Job
from tests.sim.checker.seats import Holders
from tests.sim.checker.stops import decision

DAY = 86_400.0
USER_STOPS = 24  # what the policy says where the file does not


class Room:
    """Follows the events; `touched` are the nodes that changed, `broke` whether a fault came, since last asked."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.holders, self.health, self.ledger = Holders(case), Health(case), open_ledger(case)
        self.stops: dict[str, list[float]] = defaultdict(list)
        self.touched: set[str] = set()
        self.broke = False
        self.now = -1.0

    def hear(self, index: int) -> None:
        event, change = self.case.events[index], self.case.changes.get(index)
        self.now = event["t"]
        if event["event"] == "node":
            self.health.hear(event)
            self.touched.add(event["node"])
            self.broke = self.broke or event["state"] != "up"
        if decision(self.case, index) is not None:
            for who in (event["job"], f"user {self.case.jobs[event['job']].user}"):
                self.stops[who].append(event["t"])
        if change is None:
            return
        self.holders.apply(change)
        self.touched |= change.taken.keys() | change.released.keys()
        if self.ledger is not None and self.case.starts(index):
            count(self.case, self.ledger, change.run, +1)
        elif self.ledger is not None and change.run.end == index:
            count(self.case, self.ledger, change.run, -1)

    def standing(self, kind: str) -> int:
        """GPUs of a type that are up, or still held while their node drains."""
        return sum(
            self.health.up(name, gpu) or holder is not None
            for name, slots in self.holders.of.items()
            if self.case.nodes[name].gpu_type == kind
            for gpu, holder in enumerate(slots)
        )

    def inside(self, job: Job, kind: str) -> bool:
        """Whether the job would be inside nominal now, in every reading, and what it lacks of that could come back."""
        ledger = self.ledger
        if ledger is None:
            return True
        inside = ledger.sound(kind) and ledger.soft.inside(job.team, kind, job.gpus)
        return inside and not self._lent_out(ledger, job, kind)

    def _lent_out(self, ledger: Ledger, job: Job, kind: str) -> bool:
        """Whether others keep what is idle, and its own is with work that nobody may stop: a loan with a limit."""
        runs = {id(run): run for slots in self.holders.of.values() for run in slots if run is not None}
        gone = [run for run in runs.values() if self._may_stop(run, job)]
        for run in gone:
            count(self.case, ledger, run, -1)
        ledger.soft.add(job.team, kind, job.gpus)
        short = any(
            True for name, above in ledger.soft.steps(job.team) for _ in ledger.soft.short(name, above, kind)
        )
        ledger.soft.add(job.team, kind, -job.gpus)
        for run in gone:
            count(self.case, ledger, run, +1)
        return short

    def stoppable(self, job: Job, node: str) -> list[int]:
        """The GPUs of a node that the job could have after stops that nothing forbids."""
        return [
            gpu
            for gpu, holder in enumerate(self.holders.of[node])
            if self.health.up(node, gpu) and (holder is None or self._may_stop(holder, job))
        ]

    def _may_stop(self, run: Run, job: Job) -> bool:
        if not run.job.preemptible or run.job.tier >= job.tier:
            return False
        if run.job.tier > 0 and run.job.team != job.team:
            return False
        return not self.had_enough(run.job)

    def had_enough(self, job: Job) -> bool:
        """Whether it, or its user, may have been stopped so often today that nobody may stop it again."""
        told, of_user = self.case.policy.stops_per_day, self.case.policy.user_stops_per_day
        if self._recent(job.name) >= (1 if told is None else told):
            return True
        most = USER_STOPS if of_user is None else of_user
        return job.user != NOBODY and self._recent(f"user {job.user}") >= most

    def _recent(self, who: str) -> int:
        stops = self.stops[who]
        return sum(1 for t in stops[-100:] if t > self.now - DAY)
