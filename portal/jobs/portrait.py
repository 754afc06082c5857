"""The page of one job, gathered: each part is read when a template first asks for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from portal.accounts.queries import Standing
from portal.errors import NotFound
from portal.jobs import capacity, follow, gang, order, receipts, story
from portal.jobs.lines import Line
from portal.jobs.models import FOR_OTHERS, Job, Run
from portal.jobs.runs import WAITS_AGAIN
from portal.jobs.spec import GRACE_S
from portal.jobs.waits import Wait, wait_of
from portal.journal.models import Entry
from portal.journal.queries import about
from portal.telemetry import charts as curves
from portal.telemetry.queries import means

EVENTS_SHOWN = 30
GPUS_CHARTED = 16
WORTH_A_CHART = timedelta(minutes=5)
ACTIVITY = curves.MEASURES["activity"]
STILL_COMING = timedelta(seconds=15)  # after the end of a run its page still follows the log


@dataclass(frozen=True, slots=True)
class Log:
    """What the page shows of a log at first."""

    lines: list[Line]
    unfinished: list[Line]
    after: int


def rank_of(query: QueryDict) -> int | None:
    """The one rank a reader asked for, or all."""
    text = query.get("rank", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NotFound(f"There is no rank {text[:20]}.", field="rank")
    return int(text)


class Portrait:
    """A job for one reader at one moment; `query` says which run and which rank."""

    def __init__(self, job: Job, standing: Standing, query: QueryDict, *, now: datetime) -> None:
        self.job, self.standing, self.now = job, standing, now
        self.rank = rank_of(query)
        self._epoch = query.get("run", "")
        self.all_ranks = query.get("ranks") == "all"

    def _may(self, rule: str) -> bool:
        return self.standing.may(rule, team_id=self.job.team_id, owner_id=self.job.user_id)

    @property
    def may_cancel(self) -> bool:
        """Also while it stops, if it would wait again after that."""
        run = self.live_run if self.job.phase == Job.Phase.STOPPING else None
        ends = run is not None and run.cause not in WAITS_AGAIN
        return not self.job.is_over and not ends and self._may("job.cancel")

    @property
    def may_log(self) -> bool:
        return self._may("job.log")

    @property
    def may_clone(self) -> bool:
        return bool(self.standing.teams("job.submit"))

    @property
    def mine(self) -> bool:
        return self.job.user_id == self.standing.user.pk

    @property
    def cancel_says(self) -> str:
        return story.cancel_says(self.job)

    @cached_property
    def runs(self) -> list[Run]:
        return story.runs_of(self.job)

    @cached_property
    def run(self) -> Run | None:
        """The run that is shown."""
        return story.chosen(self.job, self.runs, self._epoch)

    @property
    def live_run(self) -> Run | None:
        return next((run for run in self.runs if run.phase != Run.Phase.ENDED), None)

    @property
    def shows_the_present(self) -> bool:
        """Whether the run that is shown is the one that goes on now."""
        return self.live_run is not None and self.run == self.live_run

    @cached_property
    def nodes(self) -> list[str]:
        return [seat.node.name for seat in self.run.seats.all()] if self.run else []

    @property
    def live_nodes(self) -> list[str]:
        return [seat.node.name for seat in self.live_run.seats.all()] if self.live_run else []

    @property
    def gpu_type(self) -> str:
        """The type it runs on, or asked for."""
        kinds = {seat.node.gpu_type for seat in self.run.seats.all()} if self.run else set()
        return kinds.pop() if len(kinds) == 1 else self.job.gpu_type

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What nodes said went wrong with the run that is shown; a sentence may name its node itself."""
        seats = [seat for seat in self.run.seats.all() if seat.error] if self.run else []
        return [("" if seat.node.name in seat.error else seat.node.name, seat.error) for seat in seats]

    @cached_property
    def receipt(self) -> receipts.Told | None:
        """For whom the run that is shown made way, if it did."""
        if self.run is None or self.run.cause not in FOR_OTHERS:
            return None
        return receipts.receipts_of([self.run], self.standing).get(self.run.pk)

    @property
    def goes_by(self) -> datetime | None:
        """Until when a run that was asked to end may take its time."""
        run = self.live_run
        if run is None or run.asked_at is None:
            return None
        return run.asked_at + timedelta(seconds=GRACE_S if run.grace_s is None else run.grace_s)

    @cached_property
    def steps(self) -> list[story.Step]:
        planned = self.why.planned if self.why else None
        return story.steps(
            self.job, self.runs, planned=story.planned_says(planned, now=self.now), now=self.now
        )

    @property
    def since(self) -> datetime:
        """Since when it is in its phase, as far as that is known."""
        run = self.live_run
        if self.job.phase == Job.Phase.WAITING or run is None:
            return story.waiting_since(self.job, self.runs)
        if self.job.phase == Job.Phase.STOPPING and run.asked_at is not None:
            return run.asked_at
        return self.began

    @property
    def began(self) -> datetime:
        """Since when the run that goes on now has been running, or starting."""
        run = self.live_run
        return (run.started_at or run.created_at) if run else self.job.submitted_at

    @cached_property
    def why(self) -> Wait | None:
        return wait_of(self.job, self.standing, now=self.now)

    @cached_property
    def ahead(self) -> list[order.Ahead]:
        return order.ahead(self.job, self.standing) if self.why else []

    @property
    def ahead_jobs(self) -> int:
        return sum(row.jobs for row in self.ahead)

    @property
    def ahead_gpus(self) -> int:
        return sum(row.gpus for row in self.ahead)

    @cached_property
    def rooms(self) -> list[capacity.TypeRoom]:
        return capacity.rooms(now=self.now, gpu_type=self.job.gpu_type) if self.why else []

    @cached_property
    def ranks(self) -> gang.Ranks:
        return gang.ranks_of(self.run, everything=self.all_ranks)

    @cached_property
    def activity(self) -> list[tuple[str, list[tuple[curves.Multiple, float | None]]]]:
        """By node: the last hour of each GPU and what it says now; of few enough to be looked at."""
        run = self.live_run
        if run is None or not self.shows_the_present or self.ranks.total > GPUS_CHARTED:
            return []
        if run.started_at is None or self.now - run.started_at < WORTH_A_CHART:
            return []
        begin = curves.hour(self.now)
        lines = {line.rank.gpu_id: line for line in self.ranks.lines}
        # What the GPUs did before, they did for others.
        rows = [one for one in means(lines, begin=begin, step=curves.STEP) if one.at >= run.created_at]
        slots = {gpu: line.slot for gpu, line in lines.items()}
        drawn = curves.multiples(rows, slots, ACTIVITY, begin=begin, top=ACTIVITY.top)
        return [
            (node, [(one, lines[one.gpu].util) for one in drawn if lines[one.gpu].node == node])
            for node in self.nodes
        ]

    @cached_property
    def money(self) -> story.Money:
        return story.money(self.job, now=self.now)

    @property
    def bills(self) -> list[tuple[Run, Any]]:
        """What each run cost, where there was more than one."""
        cost = self.money.by_run
        return [(run, cost[run.pk]) for run in self.runs if run.pk in cost] if len(self.runs) > 1 else []

    @property
    def ends_by(self) -> datetime | None:
        """When the limit ends the run."""
        run = self.live_run
        if run is None or run.started_at is None or not self.job.limit_s:
            return None
        return run.started_at + timedelta(seconds=self.job.limit_s)

    @cached_property
    def events(self) -> list[Entry]:
        return list(about(Entry.Kind.JOB, self.job.pk)[:EVENTS_SHOWN])

    @cached_property
    def log(self) -> Log:
        if self.run is None:
            return Log([], [], 0)
        reader = follow.Reader(self.run.pk, rank=self.rank)
        lines = reader.newest()
        return Log(lines, reader.unfinished(), reader.after)

    @property
    def follows(self) -> bool:
        """Whether more of the log can come."""
        if self.run is None:
            return False
        return self.run.ended_at is None or self.now - self.run.ended_at < STILL_COMING

    @property
    def log_query(self) -> str:
        """Which log, as part of an address."""
        rank = "" if self.rank is None else f"&rank={self.rank}"
        return f"run={self.run.epoch}{rank}" if self.run else ""

    @property
    def log_id(self) -> str:
        """Another run or rank is another list, so that nothing of one stays in the other."""
        return f"log-{self.run.epoch if self.run else 0}-{'all' if self.rank is None else self.rank}"

    @property
    def stream(self) -> str:
        return f"{reverse('job-stream', args=[self.job.pk])}?{self.log_query}"

    @property
    def download(self) -> str:
        return f"{reverse('job-log', args=[self.job.pk])}?{self.log_query}"
