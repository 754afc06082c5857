"""What quota says of waiting jobs when the round is over: the types they may have, or whose limit they meet."""

from scheduler.core.about import whole_minutes
from scheduler.core.ends import Ends
from scheduler.core.lineage import CLUSTER
from scheduler.core.model import Fact, Facts, Job, Tier
from scheduler.core.possible import Possible, smallest
from scheduler.core.promise import lendable_limit_s
from scheduler.core.quota import Standing
from scheduler.core.reasons import Reason
from scheduler.core.table import Table

Because = tuple[Reason, Facts]
Key = tuple[object, ...]


class Limited:
    """With what starts in this round counted in; each kind of job is looked at once."""

    def __init__(self, table: Table, possible: Possible, ends: Ends | None) -> None:
        self._books, self._policy = table.books, table.policy
        self._possible, self._ends = possible, ends
        self._kinds: dict[Key, tuple[str, ...]] = {}
        self._refusals: dict[Key, Because] = {}

    def kinds(self, job: Job, key: Key | None = None) -> tuple[str, ...]:
        """The GPU types that would do and that quota allows now; none = it is refused."""
        key = key or self.key(job)
        kinds = self._kinds.get(key)
        if kinds is None:
            able = self._possible.able(job)
            kinds = self._kinds[key] = tuple(kind for kind in able if self._standing(job, kind).starts)
        return kinds

    def refusal(self, job: Job) -> Because:
        """Where every type is at a limit the team's limit holds; where one could be lent there is nothing to."""
        key = self.key(job)
        if key not in self._refusals:
            able = self._possible.able(job)
            lent = [kind for kind in able if self._standing(job, kind) is Standing.NOTHING]
            because = (
                (Reason.NOTHING_TO_BORROW, self._nothing(job, lent[0]))
                if lent
                else (Reason.TEAM_LIMIT, self._limit(job, able))
            )
            self._refusals[key] = because
        return self._refusals[key]

    def key(self, job: Job) -> Key:
        """All that quota looks at; of a loan that would not be back in time, the limit with which it would."""
        loan = self._possible.returns(job) or lendable_limit_s(job, self._policy)
        return job.request, job.team, job.tier is Tier.PRODUCTION, loan, job.preemptible

    def _standing(self, job: Job, kind: str, *, returns: bool | None = None) -> Standing:
        returns = self._possible.returns(job) if returns is None else returns
        asked, firm = smallest(job.request), not job.preemptible
        return self._books.standing(job.team, kind, asked, returns=returns, firm=firm)

    def _limit(self, job: Job, able: tuple[str, ...]) -> Facts:
        """Of several types the one with the fewest GPUs too many: it comes back first."""
        asked = smallest(job.request)
        excess, kind, place = min(self._excess(job.team, kind, asked) for kind in able)
        terms, held = self._books.lineage.terms(kind), self._books.page(kind).held[place]
        nominal = max(0, terms.nominal[place])
        return {
            "asked": asked,
            "gpu_type": kind,
            "team": self._books.lineage.name(place),
            "own_team": job.team,
            "held": held,
            "limit": terms.limit[place],
            "nominal": nominal,
            "borrowed": max(0, held - nominal),
            **(self._ends.quota(place, kind, excess) if self._ends else {}),
        }

    def _excess(self, team: str, kind: str, asked: int) -> tuple[int, str, int]:
        """How many GPUs too many it would be for the lowest level whose limit is reached, and which one that is."""
        page, path = self._books.page(kind), self._books.lineage.path(team)
        over = [(page.held[place] + asked - page.terms.limit[place], kind, place) for place in path]
        return next(found for found in over if found[0] > 0)

    def _nothing(self, job: Job, kind: str) -> Facts:
        page, lineage = self._books.page(kind), self._books.lineage
        own, asked = page.terms.own[lineage.path(job.team)[0]], smallest(job.request)
        known = {} if own == CLUSTER else {"held": page.held[own], "nominal": page.terms.nominal[own]}
        returns = self._possible.returns(job)
        numbers: dict[str, Fact] = {
            "asked": asked,
            "gpu_type": kind,
            "team": lineage.name(own) or job.team,
            "own_team": job.team,
            **known,
        }
        if not returns and self._standing(job, kind, returns=True).starts:
            # A loan must be back in time; its own limit is what keeps it from having one.
            fits = int(lendable_limit_s(job, self._policy) // 60)
            promise = {"promise_min": whole_minutes(self._policy.return_promise_s), "fits_min": fits}
            return {**numbers, "why": "firm", **promise}
        numbers["why"] = "lent" if asked <= self._books.room(job.team, kind) else "used"
        return numbers | (self._ends.loan(job, kind, asked, returns=returns) if self._ends else {})
