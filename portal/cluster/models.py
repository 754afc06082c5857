"""Clusters, pools, nodes and GPUs, with what the newest beat said of them."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q

SILENT_AFTER = timedelta(seconds=30)


class Cluster(models.Model):
    """Machines that share a network; a gang never spans two."""

    name = models.SlugField(max_length=40, unique=True)
    node_loss_s = models.PositiveIntegerField(default=60)  # silence after which a node's runs move on

    def __str__(self) -> str:
        return self.name


class Pool(models.Model):
    """Nodes that are planned together."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    name = models.SlugField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="pool_name_once_per_cluster")]

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """A machine with GPUs. Approval, draining and loss are separate facts: a lost node stays drained."""

    class State(models.TextChoices):
        PENDING = "pending", "Awaiting approval"
        READY = "ready", "Ready"
        SILENT = "silent", "Silent"
        DRAINED = "drained", "Drained"
        LOST = "lost", "Lost"

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="nodes")
    name = models.SlugField(max_length=63, unique=True)
    address = models.CharField(max_length=255, default="127.0.0.1")
    block = models.CharField(max_length=40, blank=True)
    rack = models.CharField(max_length=40, blank=True)
    gpu_type = models.CharField(max_length=40)
    cpus = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveIntegerField(default=0)

    claim_digest = models.CharField(max_length=64)  # proves that a later join comes from the same agent
    key_version = models.PositiveIntegerField(default=1)  # raise it and every key of the node changes
    hardware = models.JSONField(default=dict)  # the inventory an administrator approved
    hardware_digest = models.CharField(max_length=64, blank=True)
    hardware_reported = models.JSONField(default=dict)  # the inventory it joined with last
    hardware_seen = models.CharField(max_length=64, blank=True)  # what the newest beat says it has now
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    expelled_at = models.DateTimeField(
        null=True, blank=True
    )  # put out: no token lets it in again, a person may

    drained_at = models.DateTimeField(null=True, blank=True)
    drained_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    drain_reason = models.CharField(max_length=200, blank=True)

    boot = models.BigIntegerField(default=0)
    beat_seq = models.BigIntegerField(default=0)
    orders_seq = models.BigIntegerField(default=0)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    lost_at = models.DateTimeField(null=True, blank=True)
    isolated = models.BooleanField(default=False)  # ranks run under uids of their own
    latest = models.JSONField(default=dict)  # readings, trespass and findings of the newest beat

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(drained_at=None) | ~Q(drain_reason=""), name="drained_with_a_reason"
            ),
            models.CheckConstraint(
                condition=Q(expelled_at=None) | Q(approved_at=None), name="expelled_nodes_are_not_approved"
            ),
            models.CheckConstraint(
                condition=Q(lost_at=None) | Q(approved_at__isnull=False), name="only_approved_nodes_get_lost"
            ),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def state(self, now: datetime) -> "Node.State":
        """The one word the pages and the planner use."""
        if self.approved_at is None:
            return Node.State.PENDING
        if self.lost_at is not None:
            return Node.State.LOST
        if self.drained_at is not None:
            return Node.State.DRAINED
        if self.last_seen_at is None or now - self.last_seen_at > SILENT_AFTER:
            return Node.State.SILENT
        return Node.State.READY

    @property
    def hardware_changed(self) -> bool:
        return bool(self.hardware_seen) and self.hardware_seen != self.hardware_digest


class Gpu(models.Model):
    """One GPU in its slot."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="gpus")
    slot = models.PositiveSmallIntegerField()
    uuid = models.CharField(max_length=96, unique=True)
    name = models.CharField(max_length=96)
    memory_mib = models.PositiveIntegerField()
    nvlink_domain = models.PositiveSmallIntegerField(default=0)
    retired_at = models.DateTimeField(null=True, blank=True)  # no longer in the node; kept for its bills

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("node"), F("slot"), condition=Q(retired_at=None), name="one_gpu_per_slot"
            )
        ]
        ordering = ["node", "slot"]

    def __str__(self) -> str:
        return f"{self.node} GPU {self.slot}"
