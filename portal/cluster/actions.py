"""Writes about machines: approving what joined, draining, resuming."""

from datetime import datetime
from typing import Any

from django.db import transaction

from portal import bell
from portal.accounts.models import User
from portal.cluster.models import Gpu, Node
from portal.errors import Conflict, Refusal
from portal.journal.actions import note
from portal.journal.models import Entry
from scheduler.wire import inventory_digest

NO_GPUS = "none"


@transaction.atomic
def approve(*, node: Node, by: User | None, now: datetime) -> None:
    """Let a node in, or accept its changed hardware: what it reported last becomes what it has."""
    node = Node.objects.select_for_update(of=("self",)).get(pk=node.pk)
    _check_inventory(node, node.hardware_reported["gpus"])
    first = bool(
        Node.objects.filter(pk=node.pk, approved_at=None).update(
            approved_at=now, approved_by=by, expelled_at=None
        )
    )
    _take_inventory(node, node.hardware_reported, now)
    who, what = (by.full_name if by else "a join token"), ("" if first else "'s changed hardware")
    note(
        about=(Entry.Kind.NODE, node.pk), verb="approved", actor=by, now=now,
        sentence=f"{node.name}{what} approved by {who}",
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
            about=(Entry.Kind.NODE, node.pk), verb="drained", actor=by, now=now,
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
            about=(Entry.Kind.NODE, node.pk), verb="resumed", actor=by, now=now,
            sentence=f"{node.name} resumed by {by.full_name}",
        )  # fmt: skip
        bell.ring()


def _check_inventory(node: Node, gpus: list[dict[str, Any]]) -> None:
    kinds = sorted({gpu["type"] for gpu in gpus})
    if len(kinds) > 1:
        raise Refusal(f"{node.name} reports {' and '.join(kinds)}; all GPUs of a node must be of one type.")
    for what in ("slot", "uuid"):
        if len({gpu[what] for gpu in gpus}) < len(gpus):
            raise Refusal(f"{node.name} reports two GPUs with the same {what}; mend its inventory.")
    # Bills go by the type of the node that a GPU sits in.
    if node.approved_at and kinds and node.gpu_type not in (*kinds, NO_GPUS):
        raise Conflict(
            f"{node.name} had {node.gpu_type} and now reports {kinds[0]}; let it join under another name, "
            "so that what it cost before stays true."
        )


def _kind(node: Node, gpus: list[dict[str, Any]]) -> str:
    """A node whose GPUs are all gone keeps their type, for its bills."""
    return gpus[0]["type"] if gpus else node.gpu_type if node.gpus.exists() else NO_GPUS


def _take_inventory(node: Node, hardware: dict[str, Any], now: datetime) -> None:
    """Make the GPU rows what the hardware says; a GPU that is gone is kept for its bills."""
    uuids = [gpu["uuid"] for gpu in hardware["gpus"]]
    elsewhere = Gpu.objects.filter(uuid__in=uuids, retired_at=None).exclude(node=node).first()
    if elsewhere is not None:
        raise Conflict(
            f"{node.name} reports {elsewhere.uuid}, which is GPU {elsewhere.slot} of {elsewhere.node}."
        )
    Gpu.objects.filter(node=node, retired_at=None).update(retired_at=now)
    for gpu in hardware["gpus"]:
        fields = {key: gpu[key] for key in ("slot", "name", "memory_mib", "nvlink_domain")}
        Gpu.objects.update_or_create(uuid=gpu["uuid"], defaults={**fields, "node": node, "retired_at": None})
    Node.objects.filter(pk=node.pk).update(
        hardware=hardware,
        hardware_digest=inventory_digest(hardware),
        hardware_seen=inventory_digest(hardware),
        gpu_type=_kind(node, hardware["gpus"]),
        **{key: hardware[key] for key in ("cpus", "memory_mib", "block", "rack")},
    )
