"""Pledges: what places that are being made will need of quota. Nobody else takes that while the victims leave."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from scheduler.core.model import Job, Running
from scheduler.core.policy import Policy
from scheduler.core.promise import may_lend
from scheduler.core.quota import Books, Holding, Standing


class Pledge(NamedTuple):
    """A job, and what it will hold."""

    job: Job
    gpus: int
    returns: bool


class Pledges:
    """Those of one plan, with its books. Whoever starts may take them away: from the same share, or what is lent."""

    def __init__(self, books: Books, policy: Policy) -> None:
        self._books, self._policy = books, policy
        self._pledges: defaultdict[str, list[Pledge]] = defaultdict(list)  # by type
        # By type and job: who makes way.
        self._leaving: defaultdict[str, dict[int, Holding]] = defaultdict(dict)
        self._version = -1
        self._known: dict[tuple[str, int, str, int, bool], Job | None] = {}  # as of that version of the books

    def add(self, job: Job, kind: str, gpus: int, leaving: Iterable[Running]) -> None:
        """A place is being made for this job, and its quota is on the books already."""
        if self._books.lineage.terms(kind).shared:
            self._leaving[kind].update(
                (run.job, (run.team, run.gpus, self._books.returns(run)))
                for run in leaving
                if run.gpu_type == kind
            )
            self._pledges[kind].append(Pledge(job, gpus, may_lend(job, self._policy)))
            self._version = -1

    def broken(self, job: Job, kind: str, gpus: int, victims: Iterable[Running] = ()) -> Job | None:
        """Whose pledge would not be honoured any more if this job, of no higher tier, started with so many.

        `victims` would make way for it.
        """
        if not self._pledges:
            return None
        gone = [(run.team, -run.gpus, self._books.returns(run)) for run in victims if run.gpu_type == kind]
        if gone:
            return self._first_broken(job, kind, ((job.team, gpus, may_lend(job, self._policy)), *gone))
        if self._version != self._books.version:
            self._version, self._known = self._books.version, {}
        returns = may_lend(job, self._policy)
        key = (kind, job.tier, job.team, gpus, returns)
        if key not in self._known:
            self._known[key] = self._first_broken(job, kind, ((job.team, gpus, returns),))
        return self._known[key]

    def _first_broken(self, job: Job, kind: str, changes: tuple[Holding, ...]) -> Job | None:
        for pledge in self._pledges.get(kind, ()):
            if pledge.job.tier < job.tier:
                continue
            now, then = self._standing(pledge, kind), self._standing(pledge, kind, *changes)
            # What is taken back for an owner stays its own: on loan, others would have made way for a borrower.
            if (now.starts and not then.starts) or (now is Standing.INSIDE and then is not now):
                return pledge.job
        return None

    def _standing(self, pledge: Pledge, kind: str, *more: Holding) -> Standing:
        """What its start would be once all who make way have gone, with these changes besides."""
        # Who makes way for others counts too: their places, which are on the books, are of no use before that.
        gone = ((pledge.job.team, pledge.gpus, pledge.returns), *self._leaving[kind].values())
        changes = [*((team, -gpus, returns) for team, gpus, returns in gone), *more]
        job, firm = pledge.job, not pledge.job.preemptible
        return self._books.standing_after(
            changes, job.team, kind, pledge.gpus, returns=pledge.returns, firm=firm
        )
