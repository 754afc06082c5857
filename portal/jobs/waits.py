"""Why jobs wait, as one reader may know it: the sentence, the numbers in it, and what is planned."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from portal.accounts.queries import Standing
from portal.jobs.models import Job
from scheduler.core.explain import sentence
from scheduler.core.reasons import Reason

Numbers = Mapping[str, Any]
NAMING = ("ends_job", "for_job")  # numbers of a verdict that are numbers of jobs
# What keeps a job from being considered at all, whoever else waits.
GATES = (
    Reason.IMPOSSIBLE, Reason.HELD, Reason.NOT_BEFORE, Reason.DEPENDS, Reason.RETRYING, Reason.NOT_ALLOWED,
)  # fmt: skip
UNSEEN = "Not yet considered: the planner looks at it within seconds."


@dataclass(frozen=True, slots=True)
class Planned:
    """A start that the newest plan holds a place for."""

    place: str
    at: datetime | None  # None: as soon as those who make way are gone,
    within_s: int = 0  # and that takes so long at the most
    certain: bool = True  # limits alone say so, and no forecast

    @property
    def about(self) -> str:
        """The word before the time: by 15:20, about 15:05, within 2 min."""
        return "within" if self.at is None else "by" if self.certain else "about"


@dataclass(frozen=True, slots=True)
class Wait:
    """Why one job waits."""

    code: str | None  # a Reason; None: not yet considered
    sentence: str
    since: datetime | None
    numbers: Numbers
    ahead_jobs: int
    ahead_gpus: int

    @property
    def in_line(self) -> bool:
        """Whether its turn is what it waits for, among other things."""
        return self.code is None or Reason(self.code) not in GATES

    @property
    def planned(self) -> Planned | None:
        n = self.numbers
        if "planned_at" in n:
            at = datetime.fromisoformat(n["planned_at"])
            return Planned(n["place"], at, certain=bool(n.get("certain")))
        if self.code == Reason.STOPPING_OTHERS:
            return Planned(n["place"], None, 60 * n["within_min"])
        return None

    @property
    def plain(self) -> dict[str, Any]:
        """In the shape of contracts/reasons.md, for the API."""
        planned = self.planned
        return {
            "code": self.code, "sentence": self.sentence, "since": self.since, "numbers": self.numbers,
            "ahead": {"jobs": self.ahead_jobs, "gpus": self.ahead_gpus},
            "planned": {"at": planned.at, "place": planned.place} if planned else None,
        }  # fmt: skip


def wait_of(job: Job, standing: Standing, *, now: datetime) -> Wait | None:
    """Nothing when it does not wait; one query at the most."""
    return waits_of([job], standing, now=now).get(job.pk)


def waits_of(jobs: Iterable[Job], standing: Standing, *, now: datetime) -> dict[int, Wait]:
    """By job, for those that wait; one query at the most, however many there are."""
    waiting = [job for job in jobs if job.phase == Job.Phase.WAITING]
    tell = _for_reader(standing, [_full(job.reason_numbers) for job in waiting])
    return {job.pk: _wait(job, tell, yours=job.user_id == standing.user.pk, now=now) for job in waiting}


def _wait(job: Job, tell: Callable[[Numbers], Numbers], *, yours: bool, now: datetime) -> Wait:
    if not job.reason:
        return Wait(None, UNSEEN, job.submitted_at, {}, job.ahead_jobs, job.ahead_gpus)
    numbers = tell(job.reason_numbers)
    if last := job.reason_numbers.get("last_code"):
        words = sentence(Reason(last), tell(_full(job.reason_numbers)), now=now, yours=yours)
        age = now - datetime.fromisoformat(numbers["last_at"])
        numbers = {**numbers, "last": words, "last_s": max(0, round(age.total_seconds()))}
    said = sentence(Reason(job.reason), numbers, now=now, yours=yours)
    return Wait(job.reason, said, job.reason_since, numbers, job.ahead_jobs, job.ahead_gpus)


def _full(numbers: Numbers) -> Numbers:
    """The numbers of the last full answer, where a round did not come to this job."""
    last: Numbers = numbers.get("last_numbers", numbers)
    return last


def _for_reader(standing: Standing, told: Iterable[Numbers]) -> Callable[[Numbers], Numbers]:
    """Jobs that verdicts name: by number where the reader may see them, else by their team alone."""
    named = {numbers[key] for numbers in told for key in NAMING if key in numbers}
    rows = Job.objects.filter(pk__in=named).values_list("pk", "team_id", "user_id", "team__name")
    hidden = {
        pk: f"of team {team_name}"
        for pk, team, user, team_name in (rows if named else ())
        if not standing.may("job.see", team_id=team, owner_id=user)
    }

    def tell(numbers: Numbers) -> Numbers:
        if "last_numbers" in numbers:
            numbers = {**numbers, "last_numbers": tell(numbers["last_numbers"])}
        return {key: hidden.get(value, value) if key in NAMING else value for key, value in numbers.items()}

    return tell
