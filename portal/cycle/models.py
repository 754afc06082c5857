"""What the cycle keeps: the policy with its history, one row per turn that changed something, what one plan leaves to the next."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class PolicyVersion(models.Model):
    """The policy as somebody set it. Written once, never changed; the highest number is in force."""

    number = models.PositiveIntegerField(unique=True)  # from 1; before that the defaults are in force
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    why = models.CharField(max_length=500)
    figures = models.JSONField()  # every one, so that a new default changes no past version

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(why=""), name="policy_changed_for_a_reason"),
            models.CheckConstraint(condition=Q(number__gte=1), name="policy_versions_count_from_one"),
        ]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"policy {self.number}"


class Cycle(models.Model):
    """One turn of look, think, write."""

    began_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField()
    started = models.PositiveIntegerField()
    skipped = models.PositiveIntegerField()  # starts the database refused: somebody was quicker
    stopped = models.PositiveIntegerField(default=0)  # runs that were asked to make room

    class Meta:
        indexes = [models.Index(fields=["-began_at"], name="cycle_by_age")]

    def __str__(self) -> str:
        return f"cycle {self.pk}"


class Intent(models.Model):
    """What the newest plan leaves to the next one: places being made, planned starts; one row."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    claims = models.JSONField(default=list)
    promises = models.JSONField(default=list)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="intent_has_one_row")]

    def __str__(self) -> str:
        return f"{len(self.claims)} claims, {len(self.promises)} promises"


class Meter(models.Model):
    """How far decayed use has been added up: until `at`, for this half-life; one row, which owns the readings."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    at = models.DateTimeField()
    half_life_s = models.FloatField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="meter_has_one_row")]

    def __str__(self) -> str:
        return f"use until {self.at:%H:%M:%S}"


class Used(models.Model):
    """Decayed GPU-seconds of one user in one team, at the meter's moment."""

    meter = models.ForeignKey(Meter, on_delete=models.CASCADE, related_name="readings")
    team = models.ForeignKey("accounts.Team", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    gpu_s = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_reading_per_owner")]

    def __str__(self) -> str:
        return f"{self.gpu_s:.0f} GPU-s of {self.user} in {self.team}"
