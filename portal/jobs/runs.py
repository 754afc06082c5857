"""The life of a run: what agents saw moves it on, and its end decides what becomes of the job."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Greatest

from portal import bell
from portal.jobs.models import FOR_OTHERS, Hold, Job, Rank, Run, Seat
from portal.journal.actions import note
from portal.journal.models import Entry
from scheduler.wire import RankSeen, RunSeen

LIVE = (Run.Phase.STARTING, Run.Phase.RUNNING)
LAST_MOMENT = datetime(3000, 1, 1, tzinfo=UTC).timestamp()
# What the end of a run makes of its job. A lost node is nobody's fault, and who made way is owed a place:
# the job waits again.
JOB_AFTER = {
    Run.Cause.FINISHED: Job.Phase.FINISHED,
    Run.Cause.FAILED: Job.Phase.FAILED,
    Run.Cause.LIMIT: Job.Phase.FAILED,
    Run.Cause.CANCELLED: Job.Phase.CANCELLED,
    Run.Cause.NODE_LOST: Job.Phase.WAITING,
    Run.Cause.PREEMPTED: Job.Phase.WAITING,
    Run.Cause.RECLAIMED: Job.Phase.WAITING,
    Run.Cause.RECALLED: Job.Phase.WAITING,
    Run.Cause.MOVED: Job.Phase.WAITING,
}
WAITS_AGAIN = tuple(cause for cause, phase in JOB_AFTER.items() if phase == Job.Phase.WAITING)


@transaction.atomic
def begin_to_end(*, run: Run, cause: Run.Cause, now: datetime) -> bool:
    """Ask for the end, once: the first cause stays, whatever follows from it."""
    Job.objects.select_for_update().get(pk=run.job_id)  # else its run may end between the two writes below
    able = Q(phase__in=LIVE)
    if cause == Run.Cause.CANCELLED:  # else the job would start again, against that wish
        able |= Q(phase=Run.Phase.STOPPING, cause__in=WAITS_AGAIN)
    asked = Run.objects.filter(able, pk=run.pk).update(
        phase=Run.Phase.STOPPING, cause=cause, asked_at=Coalesce("asked_at", Value(now)), grace_s=None
    )
    if not asked:
        return False
    Job.objects.filter(pk=run.job_id).update(phase=Job.Phase.STOPPING, version=F("version") + 1)
    bell.ring()
    return True


@transaction.atomic
def observe(*, seat: Seat, seen: RunSeen, now: datetime) -> None:
    """Take in what an agent reports of its seat."""
    run = _locked(seat)
    if run is None:
        return
    _update_ranks(seat, seen.ranks)
    if seen.state == "ended":
        _end_seat(seat, error=seen.error or "", now=now)
        if cause := _cause_of_end(seat, seen):
            begin_to_end(run=run, cause=cause, now=now)
    elif seat.phase == Seat.Phase.ORDERED and not _awaited(seat):
        Seat.objects.filter(pk=seat.pk, phase=Seat.Phase.ORDERED).update(phase=Seat.Phase.RUNNING)
    if any(_went_wrong(rank) for rank in seen.ranks):
        begin_to_end(run=run, cause=Run.Cause.FAILED, now=now)
    _move_on(run, now=now)


@transaction.atomic
def lose(*, seat: Seat, now: datetime, why: str) -> None:
    """The seat's node is gone, or forgot the run: its GPUs are free of it, the gang stops, the job waits again."""
    run = _locked(seat)
    if run is None:
        return
    Rank.objects.filter(seat=seat).exclude(state=Rank.State.ENDED).update(state=Rank.State.LOST, ended_at=now)
    _end_seat(seat, error=why, now=now)
    begin_to_end(run=run, cause=Run.Cause.NODE_LOST, now=now)
    _move_on(run, now=now)


def excuse(*, seat: Seat) -> None:
    """A gang that fails while one of its nodes is silent fails because of it: its ranks miss their peers."""
    own = Rank.objects.filter(seat=seat, state=Rank.State.ENDED).exclude(exit_code=0)
    failed = Run.objects.filter(pk=seat.run_id, phase=Run.Phase.STOPPING, cause=Run.Cause.FAILED)
    if not own.exists():
        failed.update(cause=Run.Cause.NODE_LOST)


def _locked(seat: Seat) -> Run | None:
    """The run, locked with its job, while the seat is live; lock order: job, run, seat."""
    run = Run.objects.get(pk=seat.run_id)
    Job.objects.select_for_update().get(pk=run.job_id)
    seat.refresh_from_db()
    run.refresh_from_db()
    return None if seat.phase == Seat.Phase.ENDED else run


def _update_ranks(seat: Seat, seen: Iterable[RankSeen]) -> None:
    known = {rank.rank: rank for rank in Rank.objects.filter(seat=seat)}
    changed = []
    for report in seen:
        rank = known.get(report.rank)
        if rank is None or rank.state in (report.state, Rank.State.ENDED) or report.state == "starting":
            continue
        unknown = report.state == "ended" and report.exit is None and report.signal is None
        rank.state = Rank.State.LOST if unknown else Rank.State(report.state)
        rank.exit_code, rank.signal = report.exit, report.signal
        rank.started_at, rank.ended_at = _moment(report.started_at), _moment(report.ended_at)
        changed.append(rank)
    Rank.objects.bulk_update(changed, ["state", "exit_code", "signal", "started_at", "ended_at"])


def _awaited(seat: Seat) -> bool:
    """Whether some rank has not begun: a run that is only being fetched tells of no ranks at all."""
    return Rank.objects.filter(seat=seat, state=Rank.State.ORDERED).exists()


def _moment(epoch: float | None) -> datetime | None:
    """What a node's clock says; a moment in another millennium is none."""
    return datetime.fromtimestamp(epoch, UTC) if epoch and epoch < LAST_MOMENT else None


def _went_wrong(rank: RankSeen) -> bool:
    return rank.state == "ended" and (bool(rank.exit) or bool(rank.signal))


def _cause_of_end(seat: Seat, seen: RunSeen) -> Run.Cause | None:
    """Why a whole seat ended, if that ends the run: no exit status at all means the node lost track."""
    if any(_went_wrong(rank) for rank in seen.ranks):
        return Run.Cause.FAILED
    if not seen.ranks or any(rank.exit is None for rank in seen.ranks):
        return Run.Cause.FAILED if seen.error and not seen.ranks else Run.Cause.NODE_LOST
    return None


def _end_seat(seat: Seat, *, error: str, now: datetime) -> None:
    """The write that frees the GPUs is the write that stops the bill."""
    Seat.objects.filter(pk=seat.pk).update(phase=Seat.Phase.ENDED, ended_at=now, error=error[:300])
    # Two processes read two clocks: a hold never ends before it began.
    end = Greatest(F("held_from"), Value(now))
    mine = Rank.objects.filter(seat=seat).values("gpu")
    Hold.objects.filter(run=seat.run_id, gpu__in=mine, released_at=None).update(released_at=end)
    bell.ring()


def _move_on(run: Run, *, now: datetime) -> None:
    """Running once every rank runs; over once every seat is."""
    phases = set(Seat.objects.filter(run=run).values_list("phase", flat=True))
    if phases == {Seat.Phase.ENDED}:
        _end(run, now=now)
    elif Seat.Phase.ORDERED not in phases:
        began = Run.objects.filter(pk=run.pk, phase=Run.Phase.STARTING)
        if began.update(phase=Run.Phase.RUNNING, started_at=now):
            Job.objects.filter(pk=run.job_id, phase=Job.Phase.STARTING).update(
                phase=Job.Phase.RUNNING, version=F("version") + 1
            )
            ranks = Rank.objects.filter(run=run).count()
            sentence = f"All {ranks} ranks running" if ranks > 1 else "Its rank is running"
            _tell(run, verb="running", now=now, sentence=sentence)


def _end(run: Run, *, now: datetime) -> None:
    run.refresh_from_db()
    cause = Run.Cause(run.cause or Run.Cause.FINISHED)
    Run.objects.filter(pk=run.pk).update(
        phase=Run.Phase.ENDED, cause=cause, ended_at=now, started_at=run.started_at or _began(run)
    )
    phase = JOB_AFTER[cause]
    over = phase != Job.Phase.WAITING
    Job.objects.filter(pk=run.job_id).update(
        phase=phase, ended_at=now if over else None, version=F("version") + 1,
        reason="", reason_numbers={}, reason_since=None, stops=F("stops") + int(cause in FOR_OTHERS),
    )  # fmt: skip
    ending = "" if over else "; the job waits for new places"
    _tell(run, verb=phase, now=now, sentence=f"Run {run.epoch} ended: {cause.label.lower()}{ending}")
    bell.ring()


def _began(run: Run) -> datetime | None:
    """A run shorter than a beat was never seen running; its ranks know when they began."""
    starts = Rank.objects.filter(run=run).values_list("started_at", flat=True)
    return max((moment for moment in starts if moment), default=None)


def _tell(run: Run, *, verb: str, now: datetime, sentence: str) -> None:
    note(about=(Entry.Kind.JOB, run.job_id), verb=verb, now=now, sentence=sentence, facts={"run": run.pk})
