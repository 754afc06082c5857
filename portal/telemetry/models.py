"""GPU readings over time; raw rows live 48 hours."""

from django.db import models


class Reading(models.Model):
    """What one GPU measured at one moment. A value that NVML does not know is empty, never zero."""

    gpu = models.ForeignKey("cluster.Gpu", on_delete=models.CASCADE, related_name="readings")
    at = models.DateTimeField()
    util = models.PositiveSmallIntegerField(null=True)  # percent
    memory_used_mib = models.PositiveIntegerField(null=True)
    temp_c = models.SmallIntegerField(null=True)
    power_w = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["gpu", "-at"], name="reading_of_gpu"),
            models.Index(fields=["at"], name="reading_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.gpu_id} at {self.at:%H:%M:%S}: {self.util} %"
