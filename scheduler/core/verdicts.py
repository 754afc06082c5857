"""A verdict for every job that goes on waiting."""

from collections.abc import Iterator, Sequence

import numpy as np

from scheduler.core.about import about_minutes, stamp
from scheduler.core.keeping import within_s
from scheduler.core.line import Line
from scheduler.core.model import Claim, Fact, Facts, Job, Promise, Seat
from scheduler.core.precedence import Precedence
from scheduler.core.reasons import Reason
from scheduler.core.risk import is_certain
from scheduler.core.table import Table
from scheduler.core.verbs import Verdict
from scheduler.core.why import Answer, Inquiry

Counts = tuple[list[int], list[int]]  # jobs and GPUs
MOMENTS = ("ends_job", "ends_by", "ends_in_min", "certain", "no_end", "others_ahead")
# They are told when it is planned to start.
PLANNED = (Reason.CAPACITY_DOWN, Reason.FULL, Reason.SCATTERED, Reason.RESERVED, Reason.ORDER)


def judge(table: Table, line: Line, *, evidence: bool = True) -> tuple[Verdict, ...]:
    """One dominant reason for each, with its numbers; without evidence the same reasons, and no search."""
    told = {*(start.job for start in table.starts), *table.claims, *line.shut}
    places = [place for place, job in enumerate(line.order) if job.id not in told]
    shut = (_shut(table.waiting[job], *because) for job, because in line.shut.items())
    # Who moves still runs: its new place is kept, and it has nothing to wait for.
    claims = (_claimed(table, claim) for claim in table.claims.values() if claim.job in table.waiting)
    return (*shut, *claims, *_waiting(table, line, places, evidence=evidence))


def _shut(job: Job, reason: Reason, numbers: Facts) -> Verdict:
    until = numbers.get("until")
    if isinstance(until, float):
        numbers = {**numbers, "until": stamp(until)}
    return Verdict(job.id, job.version, reason, numbers, 0, 0)


def _claimed(table: Table, claim: Claim) -> Verdict:
    """Who is still there of those that were asked to go; a tier is told where all of them have the same."""
    job = table.waiting[claim.job]
    there = [table.running[victim] for victim in claim.victims if victim in table.running]
    tiers = {run.tier for run in there}
    numbers: dict[str, Fact] = {
        "victims": len(there),
        "tier": tiers.pop().word if len(tiers) == 1 else "",
        "within_min": about_minutes(within_s(table, claim)),
        "place": place(table, claim.seats),
    }
    return Verdict(job.id, job.version, Reason.STOPPING_OTHERS, numbers, 0, 0)


def _waiting(table: Table, line: Line, places: Sequence[int], *, evidence: bool) -> Iterator[Verdict]:
    """Those at these places of the line; thousands of them are a few kinds of jobs."""
    if not places:
        return
    rest = [line.order[place] for place in places]
    inquiry = Inquiry(table, line.possible, rest, evidence=evidence)
    special, before = _Special(table, inquiry), Precedence(table, line.order)
    known: dict[int, Answer] = {}
    apart = special.jobs
    for job, place, kind, jobs, gpus in zip(rest, places, inquiry.kinds, *ahead(rest), strict=True):
        if job.id in apart:
            reason, numbers = special.answer(job, kind, behind=jobs > 0)
        else:
            answer = known.get(kind)
            if answer is None:
                answer = known[kind] = inquiry.answer(job, kind)
            reason, numbers = answer[0], answer[2] if jobs else answer[1]
        if evidence and reason is Reason.ORDER:
            numbers = before.with_rule(job, place, numbers)
        yield Verdict(job.id, job.version, reason, numbers, jobs, gpus)


class _Special:
    """Those of whom more is known than of others that ask for the same."""

    def __init__(self, table: Table, inquiry: Inquiry) -> None:
        self._table, self._inquiry = table, inquiry
        self.jobs = {*table.promises, *table.exhausted, *inquiry.blamed, *self._hoping()}

    def answer(self, job: Job, kind: int, *, behind: bool) -> tuple[Reason, Facts]:
        reason, first, later = self._inquiry.answer(job, kind)
        numbers = dict(later if behind else first)
        promise = self._table.promises.get(job.id)
        if promise is not None and reason in PLANNED:
            numbers = {key: value for key, value in numbers.items() if key not in MOMENTS}
            numbers |= self._planned(promise)
        elif job.id in self._table.exhausted and reason in PLANNED:
            numbers["search_ended"] = 1
        if "fits_preferred" in numbers and not job.request.required:
            numbers["relaxes_at"] = stamp(job.submitted_at + self._table.policy.relax_after_s)
        return reason, numbers

    def _hoping(self) -> Iterator[int]:
        """Whose preferred place is still waited for."""
        table = self._table
        if table.policy.relax_after_s > 0:
            yield from (job.id for job in table.snap.waiting if table.wishes.binds(job))

    def _planned(self, promise: Promise) -> dict[str, Fact]:
        table, ends = self._table, self._inquiry.ends
        return {
            "planned_at": stamp(promise.at),
            "planned_in_min": about_minutes(promise.at - table.now),
            "place": place(table, promise.seats),
            "certain": int(is_certain(table, promise)),
            **(ends.promised(promise.at, promise.seats) if ends else {}),
        }


def place(table: Table, seats: Sequence[Seat]) -> str:
    """The narrowest name for where these seats are; racks and blocks without a name are not told."""
    nodes = [table.layout.nodes[table.layout.row[seat.node]] for seat in seats]
    first = nodes[0]
    if len(nodes) == 1:
        return first.name
    if first.rack and len({(node.cluster, node.block, node.rack) for node in nodes}) == 1:
        return f"rack {first.rack}"
    same_block = first.block and len({(node.cluster, node.block) for node in nodes}) == 1
    return f"block {first.block}" if same_block else f"{len(nodes)} nodes"


def ahead(line: Sequence[Job]) -> Counts:
    """For each the jobs before it that accept a GPU type it accepts, and the GPUs they ask for."""
    numbers: dict[tuple[str, ...], int] = {}
    kind = np.array([numbers.setdefault(job.request.gpu_types, len(numbers)) for job in line])
    asked = np.array([job.request.gpus for job in line])
    jobs, gpus = np.zeros_like(asked), np.zeros_like(asked)
    for types, number in numbers.items():
        like = [n for other, n in numbers.items() if not types or not other or set(types) & set(other)]
        near, mine = np.isin(kind, like), kind == number
        weight = near * asked
        jobs[mine] = (np.cumsum(near) - near)[mine]
        gpus[mine] = (np.cumsum(weight) - weight)[mine]
    return jobs.tolist(), gpus.tolist()
