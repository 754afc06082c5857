"""Join tokens that approve nodes beforehand, since when beats are heard, and which were refused."""

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
