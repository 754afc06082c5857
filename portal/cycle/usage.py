"""Decayed use of GPUs by team and person: what the meter read last, and what was held since."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count

from portal.accounts.models import Team, User
from portal.cycle.models import Used
from portal.jobs.models import Hold, Job, Run
from scheduler.core.share import Owner, decayed, used

FORGOTTEN = 30  # after so many half-lives a GPU-second counts less than a billionth
Held = tuple[Owner, int, float]  # who holds how many GPUs since when


@dataclass(frozen=True, slots=True)
class Reading:
    """What the meter says: everybody's use until a moment, for one half-life."""

    at: datetime | None  # None: it was never read
    amounts: dict[Owner, float]


def amounts(live: Iterable[Held], *, half_life_s: float, now: datetime) -> dict[Owner, float]:
    """Everybody's decayed GPU-seconds now; six queries at most. Exact, whenever the meter was read last."""
    meter = reading(half_life_s)
    since = meter.at or now - timedelta(seconds=min(FORGOTTEN * half_life_s, 1e9))
    spans: dict[Owner, list[tuple[int, float, float]]] = defaultdict(list)
    for owner, gpus, begin, end in _released(since):
        spans[owner].append((gpus, max(begin, since.timestamp()), end))
    for owner, gpus, begin in live:
        spans[owner].append((gpus, max(begin, since.timestamp()), now.timestamp()))
    found = {
        owner: decayed(amount, (now - since).total_seconds(), half_life_s)
        for owner, amount in meter.amounts.items()
    }
    for owner, mine in spans.items():
        found[owner] = found.get(owner, 0.0) + used(mine, now.timestamp(), half_life_s)
    return found


def reading(half_life_s: float) -> Reading:
    """As it was read last; a reading for another half-life says nothing. One query."""
    rows = Used.objects.filter(meter__half_life_s=half_life_s).order_by()
    found = list(rows.values_list("meter__at", "team__name", "user__email", "gpu_s"))
    return Reading(found[0][0] if found else None, {(team, user): gpu_s for _, team, user, gpu_s in found})


def _released(since: datetime) -> Iterable[tuple[Owner, int, float, float]]:
    """What was given back since then; the GPUs of a seat come and go together, so there are few rows."""
    rows = Hold.objects.filter(released_at__gt=since).order_by()
    found = list(rows.values_list("run_id", "held_from", "released_at").annotate(n=Count("pk")))
    owners = _owners({run for run, *_ in found})
    for run, begin, end, gpus in found:
        yield owners[run], gpus, begin.timestamp(), end.timestamp()


def _owners(runs: set[int]) -> dict[int, Owner]:
    """Whose runs these are; four queries, or none. Table by table: PostgreSQL joins tables that it saw empty
    last, before a burst or a restore, by comparing every row with every other, and that takes minutes."""
    if not runs:
        return {}
    job_of = dict(Run.objects.filter(pk__in=runs).order_by().values_list("pk", "job_id"))
    jobs = Job.objects.filter(pk__in=set(job_of.values())).order_by()
    whose = {job: (team, user) for job, team, user in jobs.values_list("pk", "team_id", "user_id")}
    teams = dict(Team.objects.order_by().values_list("pk", "name"))
    users = dict(User.objects.filter(pk__in={user for _, user in whose.values()}).values_list("pk", "email"))
    names = {job: (teams[team], users[user]) for job, (team, user) in whose.items()}
    return {run: names[job] for run, job in job_of.items()}
