"""What all teams hold, counted twice: everything that runs, and what can be taken back from nobody."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

from tests.sim.checker.case import Case, Run
from tests.sim.checker.reading import Job, Team
from tests.sim.checker.tree import Rises, Tree


@dataclass(frozen=True, slots=True)
class Added:
    """By how much the claims of both counts rose."""

    soft: Rises
    hard: Rises


class Ledger:
    """`soft` knows what teams lend. `hard` knows only work without limit that may not be preempted, and lends nothing."""

    def __init__(self, teams: Mapping[str, Team], capacity: Mapping[str, int]) -> None:
        self.soft, self.hard = Tree(teams, capacity), Tree(teams, capacity, lends=False)

    def add(self, job: Job, kind: str, gpus: int) -> Added:
        lasting = not job.preemptible and job.limit_s == inf
        return Added(
            self.soft.add(job.team, kind, gpus), self.hard.add(job.team, kind, gpus) if lasting else {}
        )

    def breaches(self, job: Job, kind: str, added: Added) -> Iterator[str]:
        """What a start that was just counted in surely breaks."""
        yield from self._limits(job, kind)
        yield from self.soft.loans(job.team, kind, added.soft)
        # "Work that may not be preempted runs inside nominal, or borrows only with a limit": without one it may
        # only have what is its team's own, or nobody's.
        for wrong in self.hard.loans(job.team, kind, added.hard) if added.hard else ():
            yield f"may not be preempted and has no limit, but {wrong}"

    def _limits(self, job: Job, kind: str) -> Iterator[str]:
        for name in self.soft.path(job.team):
            held, quota = self.soft.held[name, kind], self.soft.quota(name, kind)
            if held > quota.nominal + quota.borrow:
                yield f"team {name} holds {held} {kind}; nominal {quota.nominal} + borrow {quota.borrow:g}"

    def sound(self, kind: str) -> bool:
        """Whether no team promised more than it owns: else readings differ in what that leaves for others."""
        return all(self.soft.backed(team, kind) for team in self.soft.teams)

    def may_refuse(self, job: Job, kind: str, *, firm: bool) -> bool:
        """Whether some reading of the quotas refuses a start that was just counted in; `firm`: nobody may stop it."""
        if any(True for _ in self._limits(job, kind)):
            return True
        sound = self.sound(kind)
        tight = any(
            True for name, above in self.soft.steps(job.team) for _ in self.soft.short(name, above, kind)
        )
        # An owner, too, may have to leave what others do not lend, and take its own back from borrowers.
        return tight or not sound or (firm and not self.soft.inside(job.team, kind))


def open_ledger(case: Case) -> Ledger | None:
    """An empty one over this cluster; None for "one team without limits" and for policies that ignore teams."""
    if case.teams is None or case.policy.reference:
        return None
    capacity: dict[str, int] = defaultdict(int)
    for node in case.nodes.values():
        capacity[node.gpu_type] += node.gpus
    return Ledger(case.teams, capacity)


def count(case: Case, ledger: Ledger, run: Run, sign: int) -> Added:
    """Counts a whole run in or out."""
    return ledger.add(run.job, case.gpu_type(run), sign * run.gpus)
