"""Journal entries: who did what to which thing, when, in one sentence."""

from django.conf import settings
from django.db import models


class Entry(models.Model):
    """One thing that happened. Written once, never changed."""

    class Kind(models.TextChoices):
        JOB = "job"
        NODE = "node"
        PERSON = "person"
        TEAM = "team"
        TOKEN = "token"
        POLICY = "policy"  # its subject is the number of a version

    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )  # empty: Berth itself, or an agent
    verb = models.CharField(max_length=40)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    subject = models.BigIntegerField()
    sentence = models.CharField(max_length=500)
    facts = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["kind", "subject", "-at"], name="entry_of_subject")]
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return self.sentence
