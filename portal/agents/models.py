"""Join tokens that approve nodes beforehand, and a count of beats that were refused."""

from django.conf import settings
from django.db import models


class JoinToken(models.Model):
    """Whoever shows this token joins as an approved node of its pool."""

    pool = models.ForeignKey("cluster.Pool", on_delete=models.CASCADE, related_name="join_tokens")
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"join token for {self.pool}"


class Refusal(models.Model):
    """How often beats that claimed to come from a node were refused, by minute and cause."""

    node_name = models.CharField(max_length=63)  # as claimed; may be nobody's
    code = models.CharField(max_length=20)
    minute = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
    sentence = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node_name", "code", "minute"], name="one_refusal_row_per_minute")
        ]
        indexes = [models.Index(fields=["minute"], name="refusal_by_age")]

    def __str__(self) -> str:
        return f"{self.node_name}: {self.code} x {self.count}"
