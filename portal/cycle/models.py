"""What the cycle keeps: one row per turn that changed something."""

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
