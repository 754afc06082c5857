"""What the cycle keeps: one row per turn that did something, and since when beats are being heard."""

from django.db import models


class Cycle(models.Model):
    """One turn of look, think, write."""

    began_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField()
    started = models.PositiveIntegerField()
    skipped = models.PositiveIntegerField()  # starts the database refused: somebody was quicker

    class Meta:
        indexes = [models.Index(fields=["-began_at"], name="cycle_by_age")]

    def __str__(self) -> str:
        return f"cycle {self.pk}"


class Listening(models.Model):
    """Since when, without a gap, the portal has been hearing beats; one row."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="listening_has_one_row")]

    def __str__(self) -> str:
        return f"listening since {self.since:%H:%M:%S}"
