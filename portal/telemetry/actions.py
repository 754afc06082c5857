"""Writing readings down, thinned to one row per GPU and interval, and sweeping old ones."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from portal.cluster.models import Gpu, Node
from portal.telemetry.models import Reading
from scheduler.wire import GpuSeen

EVERY = timedelta(seconds=10)
KEPT = timedelta(hours=48)
UNBELIEVABLE = 2**31

_kept_at: dict[int, datetime] = {}  # per process: a second process only makes the rows a little denser


def keep(seen: Sequence[tuple[Node, Sequence[GpuSeen]]], *, now: datetime) -> None:
    """One row per GPU every ten seconds; the newest reading of each beat is on the node itself."""
    due = [
        (node, gpus)
        for node, gpus in seen
        if now - _kept_at.get(node.pk, datetime.min.replace(tzinfo=now.tzinfo)) >= EVERY
    ]
    if not due:
        return
    uuids = [gpu.uuid for _, gpus in due for gpu in gpus]
    nodes = [node.pk for node, _ in due]
    found = Gpu.objects.filter(uuid__in=uuids, node__in=nodes).values_list("node_id", "uuid", "pk")
    ids = {(node, uuid): pk for node, uuid, pk in found}  # a node speaks of its own GPUs only
    Reading.objects.bulk_create(
        Reading(
            gpu_id=ids[node.pk, gpu.uuid],
            at=now,
            util=_whole(gpu.util),
            memory_used_mib=_whole(gpu.memory_used_mib),
            temp_c=_whole(gpu.temp_c),
            power_w=_whole(gpu.power_w),
        )
        for node, gpus in due
        for gpu in gpus
        if (node.pk, gpu.uuid) in ids
    )
    _kept_at.update(dict.fromkeys(nodes, now))


def _whole(value: float | None) -> int | None:
    # What a column cannot hold, no GPU has measured; it must not spoil the readings of the others.
    return None if value is None or abs(value) >= UNBELIEVABLE else round(value)


def sweep(*, now: datetime) -> int:
    """Raw readings live 48 hours."""
    return Reading.objects.filter(at__lt=now - KEPT).delete()[0]
