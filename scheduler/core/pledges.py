"""Pledges: what places that are being made will need of quota. Nobody else takes that while the victims leave."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from scheduler.core.afterwards import Afterwards, Pledge
from scheduler.core.model import Job, Running
from scheduler.core.policy import Policy
from scheduler.core.promise import may_lend
from scheduler.core.quota import Books, Holding


class Pledges:
    """Those of one plan, with its books. Whoever starts may take them away: from the same share, or what is lent."""

    def __init__(self, books: Books, policy: Policy) -> None:
        self._books, self._policy = books, policy
        # By type, and by all that quota looks at: of many pledges a few are unlike, and the oldest speaks for them.
        self._pledges: dict[str, dict[tuple[object, ...], Pledge]] = {}
        # By type and job: who makes way.
        self._leaving: defaultdict[str, dict[int, Holding]] = defaultdict(dict)
        self._version = -1
        self._known: dict[tuple[str, int, str, int, bool], Job | None] = {}  # as of that version of the books
        self._after: dict[str, Afterwards] = {}  # by type, the same

    def add(self, job: Job, kind: str, gpus: int, leaving: Iterable[Running]) -> None:
        """A place is being made for this job, and its quota is on the books already."""
        if self._books.lineage.terms(kind).shared:
            self._leaving[kind].update(
                (run.job, (run.team, run.gpus, self._books.returns(run)))
                for run in leaving
                if run.gpu_type == kind
            )
            pledge = Pledge(job, gpus, may_lend(job, self._policy))
            alike = (job.team, job.tier, job.preemptible, pledge.gpus, pledge.returns)
            self._pledges.setdefault(kind, {}).setdefault(alike, pledge)
            self._version = -1

    def broken(self, job: Job, kind: str, gpus: int, victims: Iterable[Running] = ()) -> Job | None:
        """Whose pledge would not be honoured any more if this job, of no higher tier, started with so many.

        `victims` would make way for it.
        """
        if kind not in self._pledges:
            return None
        returns = may_lend(job, self._policy)
        gone = [(run.team, -run.gpus, self._books.returns(run)) for run in victims if run.gpu_type == kind]
        if gone:
            return _first(self._afterwards(kind).breaks(((job.team, gpus, returns), *gone)), job)
        self._renew()
        key = (kind, job.tier, job.team, gpus, returns)
        if key not in self._known:
            broken = self._afterwards(kind).breaks_by_start(job.team, gpus, returns=returns)
            self._known[key] = _first(broken, job)
        return self._known[key]

    def _afterwards(self, kind: str) -> Afterwards:
        """Who makes way for others counts too: their places, which are on the books, are of no use before that."""
        self._renew()
        if kind not in self._after:
            gone: Counter[tuple[str, bool]] = Counter()
            for team, gpus, returns in self._leaving[kind].values():
                gone[team, returns] += gpus
            leaving = [(team, gpus, returns) for (team, returns), gpus in gone.items()]
            self._after[kind] = Afterwards(self._books, kind, leaving, list(self._pledges[kind].values()))
        return self._after[kind]

    def _renew(self) -> None:
        """What is known holds for one version of the books."""
        if self._version != self._books.version:
            self._version, self._known, self._after = self._books.version, {}, {}


def _first(broken: Iterable[Pledge], job: Job) -> Job | None:
    return next((pledge.job for pledge in broken if pledge.job.tier >= job.tier), None)
