"""Jobs and runs, the seats and ranks of a run, the GPUs it holds, and what it printed."""

from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import (
    ArrayField,
    DateTimeRangeField,
    RangeBoundary,
    RangeOperators,
)
from django.db import models
from django.db.models import F, Func, Q

OVER = ("finished", "failed", "cancelled")
FOR_OTHERS = ("preempted", "reclaimed", "recalled", "moved")  # causes by which a run ends for another job


# tstzrange(from, until): an empty end means for ever.
HELD = Func(
    "held_from", "released_at", RangeBoundary(), function="TSTZRANGE", output_field=DateTimeRangeField()
)


class Job(models.Model):
    """What a person asked for."""

    class Phase(models.TextChoices):
        WAITING = "waiting", "Waiting"
        STARTING = "starting", "Starting"
        RUNNING = "running", "Running"
        STOPPING = "stopping", "Stopping"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    class Tier(models.TextChoices):
        PRODUCTION = "production", "Production"
        STANDARD = "standard", "Standard"
        OPPORTUNISTIC = "opportunistic", "Opportunistic"

    name = models.CharField(max_length=100)
    team = models.ForeignKey("accounts.Team", on_delete=models.PROTECT, related_name="jobs")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    tier = models.CharField(max_length=16, choices=Tier.choices, default=Tier.STANDARD)
    command = models.TextField()
    env = models.JSONField(default=dict)
    nodes = models.PositiveIntegerField()
    gpus_per_node = models.PositiveIntegerField()
    gpu_type = models.CharField(max_length=40, blank=True)  # empty: any one type
    limit_s = models.PositiveIntegerField(null=True, blank=True)
    cloned_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="clones"
    )

    phase = models.CharField(max_length=16, choices=Phase.choices, default=Phase.WAITING)
    version = models.PositiveBigIntegerField(default=1)  # compare-and-set: every write raises it
    submitted_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    stops = models.PositiveIntegerField(default=0)  # how often a run of it was stopped for others
    idempotency_key = models.CharField(max_length=100, blank=True)
    ask_digest = models.CharField(max_length=64, blank=True)  # what was asked under that key

    reason = models.CharField(max_length=24, blank=True)  # why it waits: a Reason, its numbers, since when
    reason_numbers = models.JSONField(default=dict)
    reason_since = models.DateTimeField(null=True, blank=True)
    ahead_jobs = models.PositiveIntegerField(default=0)
    ahead_gpus = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "idempotency_key"], condition=~Q(idempotency_key=""), name="job_asked_once"
            ),
            models.CheckConstraint(condition=Q(nodes__gte=1, gpus_per_node__gte=1), name="job_asks_for_gpus"),
            models.CheckConstraint(
                condition=Q(ended_at=None, phase__in=["waiting", "starting", "running", "stopping"])
                | Q(ended_at__isnull=False, phase__in=OVER),
                name="job_ends_with_its_phase",
            ),
        ]
        indexes = [
            models.Index(fields=["submitted_at"], condition=Q(phase="waiting"), name="job_waiting"),
            models.Index(fields=["-submitted_at", "-id"], name="job_newest_first"),
            models.Index(fields=["team", "-submitted_at", "-id"], name="job_of_team"),
            models.Index(fields=["user", "-submitted_at", "-id"], name="job_of_user"),
            models.Index(fields=["phase", "-submitted_at", "-id"], name="job_by_phase"),
        ]
        ordering = ["-submitted_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def is_over(self) -> bool:
        return self.phase in OVER


class Run(models.Model):
    """One attempt at a job; a job that lost a node gets a new one, with the next epoch."""

    class Phase(models.TextChoices):
        STARTING = "starting"
        RUNNING = "running"
        STOPPING = "stopping"
        ENDED = "ended"

    class Cause(models.TextChoices):
        FINISHED = "finished", "Finished"
        FAILED = "failed", "A rank failed"
        CANCELLED = "cancelled", "Cancelled"
        LIMIT = "limit", "Time limit reached"
        NODE_LOST = "node_lost", "A node was lost"
        PREEMPTED = "preempted", "Stopped for a higher tier"
        RECLAIMED = "reclaimed", "Gave lent capacity back to its team"
        RECALLED = "recalled", "Made way for an older job"
        MOVED = "moved", "Moved to make room"

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="runs")
    epoch = models.PositiveIntegerField()
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.STARTING)
    cause = models.CharField(max_length=16, choices=Cause.choices, blank=True)  # set when it begins to end
    on_recall = models.BooleanField(default=False)  # it started ahead of an older job, and may be called back
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)  # every rank runs
    asked_at = models.DateTimeField(
        null=True, blank=True
    )  # to end; from then on `grace_s` is its time for that
    grace_s = models.PositiveIntegerField(null=True, blank=True)  # empty: the usual, see spec.py
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "epoch"], name="one_run_per_epoch"),
            models.UniqueConstraint(fields=["job"], condition=~Q(phase="ended"), name="one_live_run_per_job"),
            models.CheckConstraint(
                condition=Q(ended_at=None) & ~Q(phase="ended") | Q(ended_at__isnull=False, phase="ended"),
                name="run_ends_with_its_phase",
            ),
        ]
        ordering = ["job", "epoch"]

    def __str__(self) -> str:
        return f"run {self.epoch} of job {self.job_id}"


class Seat(models.Model):
    """A run's place on one node, with the spec the agent there fetches."""

    class Phase(models.TextChoices):
        ORDERED = "ordered"
        RUNNING = "running"
        ENDED = "ended"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="seats")
    node = models.ForeignKey("cluster.Node", on_delete=models.PROTECT, related_name="seats")
    node_rank = models.PositiveIntegerField()
    spec = models.JSONField()
    digest = models.CharField(max_length=64)
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.ORDERED)
    error = models.CharField(max_length=300, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "node"], name="one_seat_per_node"),
            models.UniqueConstraint(fields=["run", "node_rank"], name="one_seat_per_node_rank"),
        ]
        indexes = [models.Index(fields=["node"], condition=~Q(phase="ended"), name="seat_live_on_node")]
        ordering = ["run", "node_rank"]

    def __str__(self) -> str:
        return f"{self.run} on {self.node}"


class Rank(models.Model):
    """One process of a run."""

    class State(models.TextChoices):
        ORDERED = "ordered"
        RUNNING = "running"
        ENDED = "ended"
        LOST = "lost"  # its node fell silent: nobody knows how it ended

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="ranks")
    seat = models.ForeignKey(Seat, on_delete=models.PROTECT, related_name="ranks")
    rank = models.PositiveIntegerField()
    local_rank = models.PositiveIntegerField()
    gpu = models.ForeignKey("cluster.Gpu", on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ORDERED)
    exit_code = models.IntegerField(null=True, blank=True)
    signal = models.PositiveSmallIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "rank"], name="one_row_per_rank")]
        ordering = ["run", "rank"]

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.run}"


class Hold(models.Model):
    """A run holds a GPU from here to there. This row both books it and bills it."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="holds")
    gpu = models.ForeignKey("cluster.Gpu", on_delete=models.PROTECT, related_name="holds")
    held_from = models.DateTimeField()
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # The referee: whatever the code above believes, no GPU is held, or billed, twice.
            ExclusionConstraint(
                name="gpu_held_once",
                expressions=[
                    (F("gpu"), RangeOperators.EQUAL),
                    (HELD, RangeOperators.OVERLAPS),
                ],
            ),
            models.CheckConstraint(
                condition=Q(released_at=None) | Q(released_at__gte=F("held_from")),
                name="hold_ends_after_it_began",
            ),
        ]
        indexes = [
            models.Index(fields=["gpu"], condition=Q(released_at=None), name="hold_live"),
            models.Index(
                fields=["released_at"], condition=Q(released_at__isnull=False), name="hold_by_release"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.gpu} held by {self.run}"


class Receipt(models.Model):
    """Why a run was stopped for another job: by which rule, what that lost, and what else was considered."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="receipt")
    at = models.DateTimeField()
    why = models.CharField(max_length=16)  # the run's cause, also when a cancel came on top of it
    for_job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="made_room")
    lost_gpu_ms = models.PositiveBigIntegerField()
    rule = models.JSONField(default=dict)
    rejected = models.JSONField(default=list)  # other ways to make room, each with its cost

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(why__in=FOR_OTHERS), name="receipt_is_for_a_stop_for_others")
        ]
        indexes = [models.Index(fields=["at"], name="receipt_by_age")]

    def __str__(self) -> str:
        return f"{self.run} {self.why} for job {self.for_job_id}"


class Line(models.Model):
    """The order of the newest plan: jobs that wait and may be considered, first to last; one row."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    jobs = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="line_has_one_row")]

    def __str__(self) -> str:
        return f"a line of {len(self.jobs)}"


class LogChunk(models.Model):
    """A piece of what a rank printed; start counts bytes since the rank began."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log")
    rank = models.PositiveIntegerField()
    start = models.PositiveBigIntegerField()
    body = models.BinaryField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "rank", "start"], name="log_offset_once")]
        indexes = [
            models.Index(fields=["run", "id"], name="log_by_arrival")
        ]  # the newest pieces of all ranks

    def __str__(self) -> str:
        return f"log of run {self.run_id} rank {self.rank} from {self.start}"
