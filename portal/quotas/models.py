"""Quotas: how many GPUs of a type a team, with all teams below it, may hold."""

from django.db import models


class Quota(models.Model):
    """No row for a team and type means: no limit at this level of the tree."""

    team = models.ForeignKey("accounts.Team", on_delete=models.CASCADE, related_name="quotas")
    gpu_type = models.CharField(max_length=40)
    nominal = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "gpu_type"], name="one_quota_per_type")]

    def __str__(self) -> str:
        return f"{self.team}: {self.nominal} {self.gpu_type}"
