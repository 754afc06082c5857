"""Whether a job could ever run here: on the known cluster, healthy and empty, inside its team's quota."""

from dataclasses import replace
from math import inf

from scheduler.core.about import whole_minutes
from scheduler.core.allowed import never
from scheduler.core.board import empty_board
from scheduler.core.elastic import sizes
from scheduler.core.layout import Layout
from scheduler.core.misfit import Wish, misfit
from scheduler.core.model import Facts, Job, Request, Snapshot, Tier
from scheduler.core.policy import Policy
from scheduler.core.promise import Lending
from scheduler.core.quota import Books
from scheduler.core.reasons import Reason
from scheduler.core.table import Desk
from scheduler.core.verbs import Verdict

Kinds = tuple[str, ...]


def impossible(job: Job, snap: Snapshot) -> Verdict | None:
    """The refusal for a request that can never run here, or None; a plan would say the same.

    Needs only the nodes, the teams and the policy of the snapshot.
    """
    desk = Desk()
    desk.clear_for(snap)
    books = Books(desk.lineage, desk.capacity)
    found = Possible(desk.layout, books, snap.policy).obstacle(job)
    return None if found is None else Verdict(job.id, job.version, Reason.IMPOSSIBLE, found, 0, 0)


def smallest(request: Request) -> int:
    """The fewest GPUs it starts with."""
    return request.gpus if not request.min_gpus else sizes(request)[0]


class Possible:
    """The answers for one cluster and its teams: each kind of job is looked at once."""

    def __init__(self, layout: Layout, books: Books, policy: Policy) -> None:
        self._books, self._policy = books, policy
        self._empty = empty_board(layout)
        self._exist = {
            kind: int(layout.exists[field.tree.rows].sum()) for kind, field in layout.fields.items()
        }
        self._limited = any(books.lineage.terms(kind).shared for kind in self._exist)
        caps = (*policy.max_duration_s.values(), *policy.max_jobs_per_user.values())
        self._ruled = bool(policy.production_pools or policy.peaks) or min(caps) < inf
        self._shapes: dict[tuple[Request, bool], Kinds] = {}
        self._able: dict[tuple[object, ...], Kinds] = {}
        self._lending = Lending(policy)

    def obstacle(self, job: Job) -> Facts | None:
        """What stands in its way for good; None = nothing does."""
        if not self.able(job):
            return self._misfit(job) if not self._shaped(job) else self._quota(job)
        return self._forbidden(job) if self._ruled else None

    def able(self, job: Job) -> Kinds:
        """The accepted GPU types of which the cluster and the quota could hold its smallest size."""
        production = job.tier is Tier.PRODUCTION
        if not self._limited:
            return self._shapes.get((job.request, production)) or self._shaped(job)
        returns = self._ever_returns(job)
        key = (job.request, job.team, production, returns)
        if key not in self._able:
            least = smallest(job.request)
            self._able[key] = tuple(
                kind for kind in self._shaped(job) if self._most(job, kind, returns) >= least
            )
        return self._able[key]

    def _ever_returns(self, job: Job) -> bool:
        """The same on another day: what it suffered today is no reason to say never."""
        return self.returns(replace(job, stops_today=0) if job.stops_today else job)

    def returns(self, job: Job) -> bool:
        """Whether a loan to it would be back within the promise that lenders have."""
        return not self._limited or self._lending.to(job)

    def _forbidden(self, job: Job) -> Facts | None:
        """By a rule of the policy; durations are told in minutes."""
        found = never(job, self._policy)
        if found is None or found["kind"] != "duration":
            return found
        limit_s = job.limit_s or 0.0
        most_s = self._policy.max_duration_s[job.tier.word]
        return {**found, "limit_min": whole_minutes(limit_s), "most_min": whole_minutes(most_s)}

    def _most(self, job: Job, kind: str, returns: bool) -> int:
        return self._books.most(job.team, kind, self._exist[kind], returns=returns)

    def _shaped(self, job: Job) -> Kinds:
        """The accepted types that could hold its smallest size."""
        key = (job.request, job.tier is Tier.PRODUCTION)
        if key not in self._shapes:
            accepted = self._empty.layout.kinds(job.request)
            self._shapes[key] = tuple(kind for kind in accepted if self._holds(job, kind))
        return self._shapes[key]

    def _holds(self, job: Job, kind: str) -> bool:
        request = replace(job.request, gpu_types=(kind,))
        return self._empty.holds(request, tier=job.tier, policy=self._policy, gpus=smallest(request))

    def _misfit(self, job: Job) -> Facts:
        accepted = self._empty.layout.kinds(job.request)
        if not accepted:
            names = " or ".join(job.request.gpu_types)
            return {"kind": "type", "gpu_type": names, "types": list(self._exist)}
        least = smallest(job.request)
        return misfit(Wish(self._empty, job.request, least, job.tier, self._policy, accepted))

    def _quota(self, job: Job) -> Facts:
        """Of several types the one of which the team may hold the most."""
        returns, shaped = self._ever_returns(job), self._shaped(job)
        kind = max(shaped, key=lambda kind: self._most(job, kind, returns))
        most, least = self._most(job, kind, returns), smallest(job.request)
        told: Facts = {"asked": least, "gpu_type": kind, "own_team": job.team, "most": most}
        if not returns and self._most(job, kind, True) >= least:
            return {
                "kind": "firm",
                "team": job.team,
                **told,
                "promise_min": whole_minutes(self._policy.return_promise_s),
            }
        return {"kind": "quota", "team": self._lowest(job.team, kind, most), **told}

    def _lowest(self, team: str, kind: str, most: int) -> str:
        """The lowest level whose limit this is; the team itself where others keep what is theirs."""
        lineage = self._books.lineage
        limit = lineage.terms(kind).limit
        named = (lineage.name(place) for place in lineage.path(team) if limit[place] <= most)
        return next(named, "") or team
