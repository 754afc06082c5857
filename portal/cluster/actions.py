"""Writes about machines: approving what joined, draining, resuming."""

from datetime import datetime
from typing import Any

from django.db import transaction

from portal import bell
from portal.accounts.models import User
from portal.cluster.models import Gpu, Node
from portal.errors import Refusal
from portal.journal.actions import note
from portal.journal.models import Entry


@transaction.atomic
def approve(*, node: Node, by: User | None, now: datetime) -> None:
    """Let a node in, with the hardware it reported; a second approval changes nothing."""
    if not Node.objects.filter(pk=node.pk, approved_at=None).update(approved_at=now, approved_by=by):
        return
    who = by.full_name if by else "a join token"
    note(
        kind=Entry.Kind.NODE, subject=node.pk, verb="approved", actor=by, now=now,
        sentence=f"{node.name} approved by {who}",
    )  # fmt: skip
    bell.ring()


@transaction.atomic
def drain(*, node: Node, by: User, reason: str, now: datetime) -> None:
    """Nothing new starts there; what runs may finish."""
    reason = reason.strip()
    if not reason:
        raise Refusal("Say why, so that whoever finds the node drained knows.", field="reason")
    changed = Node.objects.filter(pk=node.pk, drained_at=None).update(
        drained_at=now, drained_by=by, drain_reason=reason[:200]
    )
    if changed:
        note(
            kind=Entry.Kind.NODE, subject=node.pk, verb="drained", actor=by, now=now,
            sentence=f"{node.name} drained by {by.full_name}: {reason}",
        )  # fmt: skip
        bell.ring()


@transaction.atomic
def resume(*, node: Node, by: User, now: datetime) -> None:
    """Back in service."""
    changed = Node.objects.filter(pk=node.pk, drained_at__isnull=False).update(
        drained_at=None, drained_by=None, drain_reason=""
    )
    if changed:
        note(
            kind=Entry.Kind.NODE, subject=node.pk, verb="resumed", actor=by, now=now,
            sentence=f"{node.name} resumed by {by.full_name}",
        )  # fmt: skip
        bell.ring()


@transaction.atomic
def take_inventory(*, node: Node, hardware: dict[str, Any], digest: str, now: datetime) -> None:
    """Make the GPU rows what the approved hardware says; a GPU that is gone is kept for its bills."""
    present = {gpu["uuid"]: gpu for gpu in hardware["gpus"]}
    Gpu.objects.filter(node=node, retired_at=None).exclude(uuid__in=present).update(retired_at=now)
    for uuid, gpu in present.items():
        Gpu.objects.update_or_create(
            uuid=uuid,
            defaults={
                "node": node, "slot": gpu["slot"], "name": gpu["name"], "memory_mib": gpu["memory_mib"],
                "nvlink_domain": gpu["nvlink_domain"], "retired_at": None,
            },
        )  # fmt: skip
    Node.objects.filter(pk=node.pk).update(
        hardware=hardware,
        hardware_digest=digest,
        hardware_seen=digest,
        gpu_type=hardware["gpus"][0]["type"] if hardware["gpus"] else "none",
        cpus=hardware.get("cpus", 0),
        memory_mib=hardware.get("memory_mib", 0),
        block=hardware.get("block", ""),
        rack=hardware.get("rack", ""),
    )
