"""Rates: what an hour of a GPU costs, in whole micro-units of the currency."""

from django.db import models


class Rate(models.Model):
    """The price of a GPU type from a moment on; the newest one that has begun counts."""

    gpu_type = models.CharField(max_length=40)
    micros_per_hour = models.PositiveBigIntegerField()  # 2,600,000 = 2.60 an hour
    valid_from = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["gpu_type", "valid_from"], name="one_rate_per_type_and_moment")
        ]
        ordering = ["gpu_type", "valid_from"]

    def __str__(self) -> str:
        return f"{self.gpu_type}: {self.micros_per_hour / 1_000_000:.2f} an hour"
