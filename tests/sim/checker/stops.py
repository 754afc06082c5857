"""Whom the planner may stop for whom, looked at in the moment in which it decides: at the ask."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.checker.case import CHOSEN, Case, Run
from tests.sim.checker.ledger import count, open_ledger
from tests.sim.checker.life import ends_job
from tests.sim.checker.reading import Job
from tests.sim.checker.tree import ITSELF


def decision(case: Case, index: int) -> Run | None:
    """The run that this event condemns: its ask, or its stop where nobody asked."""
    event, run = case.events[index], case.run_at[index]
    if run is None:
        return None
    if event["event"] == "ask":
        return run if run.ask == index else None
    unasked = event["event"] == "stop" and event["why"] in CHOSEN and run.ask is None
    return run if unasked else None


def violations(case: Case) -> Iterator[str]:
    judge = Judge(case)
    for index in range(len(case.events)):
        for wrong in judge.hear(index):
            yield case.say(index, wrong)


class Judge:
    """What is true at each event: who runs, who has ended, what every team holds without those already asked."""

    def __init__(self, case: Case) -> None:
        self.case, self.ledger = case, open_ledger(case)
        self.running: dict[str, Run] = {}
        self.ended: set[str] = set()
        self.reclaims: dict[str, list[Run]] = defaultdict(list)

    def hear(self, index: int) -> Iterator[str]:
        event, run = self.case.events[index], self.case.run_at[index]
        condemned = decision(self.case, index)
        if condemned is not None:
            yield from self._judge(index, condemned)
            # Who is asked is as good as gone: the next victim must be above nominal without it.
            self._count(condemned, -1)
        if event["event"] == "start" and run is not None:
            self.running[event["job"]] = run
            self._count(run, +1)
            yield from self._got_back(run)
        elif run is not None and run.end == index:
            self.running.pop(event["job"], None)
            if run.ask is None and condemned is None:
                self._count(run, -1)
        if ends_job(event):
            self.ended.add(event["job"])

    def _count(self, run: Run, sign: int) -> None:
        if self.ledger is not None:
            count(self.case, self.ledger, run, sign)

    def _judge(self, index: int, run: Run) -> Iterator[str]:
        event = self.case.events[index]
        victim, winner = run.job, self.case.jobs[event["for"]]
        if self.case.policy.reference:
            # "Both ignore teams, tiers, quotas and preemption."
            yield f"is stopped as {event['why']}, but {self.case.policy.name} stops nobody"
        if not victim.preemptible:
            yield f"is stopped as {event['why']}, but it may not be preempted"
        if winner.name in self.running or winner.name in self.ended or winner.submit_s > event["t"]:
            yield f"is stopped for {winner.name}, which does not wait"
        match event["why"]:
            case "preempted":
                yield from self._preempted(victim, winner, run)
            case "reclaimed":
                yield from self._reclaimed(victim, winner, run)
            case "recalled":
                yield from self._recalled(victim, winner, run)
            case _:
                pass  # who is moved may be anybody; `needs` looks at where it goes

    def _preempted(self, victim: Job, winner: Job, run: Run) -> Iterator[str]:
        """ "Across teams only opportunistic work and work above its team's nominal may be stopped; inside a team any lower tier." """
        if victim.tier >= winner.tier:
            yield f"is preempted for {winner.name}, which is of no higher tier"
        if victim.tier > 0 and self._other_team(victim, winner) and not self._borrows(victim, winner, run):
            yield f"is preempted for {winner.name} of another team, but team {victim.team} is within its nominal"

    def _reclaimed(self, victim: Job, winner: Job, run: Run) -> Iterator[str]:
        """ "reclaimed (lent capacity goes back)" """
        if not self._borrows(victim, winner, run):
            yield f"is reclaimed for {winner.name}, but team {victim.team} is within its nominal"
        self.reclaims[winner.name].append(run)

    def _recalled(self, victim: Job, winner: Job, run: Run) -> Iterator[str]:
        """ "recalled (it had started ahead of an older job of its tier)" """
        if victim.tier != winner.tier:
            yield f"is recalled for {winner.name}, which is of another tier"
        if (victim.submit_s, victim.row) <= (winner.submit_s, winner.row):
            yield f"is recalled for {winner.name}, which is not older"
        if any(other.start < run.start < (other.end or 0) for other in self.case.runs_of(winner.name)):
            yield f"is recalled for {winner.name}, which was running when it started"

    def _got_back(self, run: Run) -> Iterator[str]:
        """Capacity goes back to an owner: the team, or one above it that shares with it, is then within its nominal."""
        kind = self.case.gpu_type(run)
        for victim in self.reclaims.pop(run.job.name, ()):
            owners = self._apart(run.job, victim.job)
            # On another type than it was stopped for, it did not start on what was reclaimed.
            same = self.case.gpu_type(victim) == kind
            if same and owners and all(self._surely_over(name, kind) for name in owners):
                what = f"what was reclaimed from {victim.job.name}"
                yield f"starts on {what}, but team {run.job.team} is above its nominal"

    def _other_team(self, one: Job, other: Job) -> bool:
        return self.ledger is not None and one.team != other.team

    def _borrows(self, victim: Job, winner: Job, run: Run) -> bool:
        kind = self.case.gpu_type(run)
        return any(self._over(name, kind) for name in self._apart(victim, winner))

    def _apart(self, one: Job, other: Job) -> list[str]:
        """The teams of one's path that are below the common ancestor of both."""
        if self.ledger is None:
            return []
        tree = self.ledger.soft
        return [name for name in tree.path(one.team) if name not in tree.path(other.team)]

    def _surely_over(self, team: str, kind: str) -> bool:
        """A team that names no quota of the type may live on that of a team above it."""
        known = self.case.teams.get(team.removesuffix(ITSELF)) if self.case.teams else None
        return self._over(team, kind) and (known is None or kind in known.quota or not known.parent)

    def _over(self, team: str, kind: str) -> bool:
        return self.ledger is not None and self.ledger.soft.over(team, kind)
