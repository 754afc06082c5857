"""Beats in: each is opened, judged, written down in bulk, and answered with orders."""

import base64
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from portal.agents import orders
from portal.agents.keys import wire_key
from portal.agents.models import Listening
from portal.agents.queries import live_seats
from portal.agents.refusals import Count
from portal.cluster.models import Node
from portal.jobs import runs
from portal.jobs.models import Seat
from portal.journal.actions import note
from portal.journal.models import Entry
from portal.telemetry.actions import keep
from scheduler.shape import Refused
from scheduler.wire import MAX_BEAT_BYTES, NODE_NAME, Beat, unseal

ENVELOPE_BYTES = MAX_BEAT_BYTES * 3 // 2  # kombu wraps the message and encodes it in base64
GAP = timedelta(seconds=10)  # longer without listening, and every node first gets time to beat again


def hear(batch: Sequence[bytes], *, now: datetime) -> list[int]:
    """One batch of raw messages; returns the nodes that were heard. Bad ones harm nobody else."""
    opened = [_opened(raw) for raw in batch]
    nodes = {
        node.name: node for node in Node.objects.filter(name__in=_names(opened), approved_at__isnull=False)
    }
    newest: dict[str, Beat] = {}
    refused_ones = Count(nodes)
    for envelope in opened:
        try:
            beat = _judged(envelope, nodes, now)
        except Refused as refused:
            refused_ones.add(envelope, refused)
            continue
        if beat.node not in newest or (beat.boot, beat.seq) > (newest[beat.node].boot, newest[beat.node].seq):
            newest[beat.node] = beat
    refused_ones.write(now=now)
    accepted = _write_down({nodes[name].pk: beat for name, beat in newest.items()}, now)
    heard = [node for node in nodes.values() if node.pk in accepted]
    for node in heard:
        _take_in(node, newest[node.name], now)
    keep([(node, newest[node.name].gpus) for node in heard], now=now)
    orders.send(accepted, now=now)
    return sorted(accepted)


def _names(envelopes: Sequence[Any]) -> set[str]:
    """Whom the batch speaks of. PostgreSQL cannot even be asked for some of what a rogue node may send."""
    told = [envelope.get("node") for envelope in envelopes if isinstance(envelope, dict)]
    return {name for name in told if isinstance(name, str) and NODE_NAME.fullmatch(name)}


def _opened(raw: bytes) -> Any:
    """The envelope inside kombu's message. Its headers, where Celery's canvas lives, are never looked at."""
    if len(raw) > ENVELOPE_BYTES:
        return Refused("oversized", f"The message has {len(raw)} bytes; {ENVELOPE_BYTES} are allowed.")
    try:
        message = json.loads(raw)
        body = message["body"]
        if message["properties"].get("body_encoding") == "base64":
            body = base64.b64decode(body, validate=True)
        return json.loads(body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Refused("malformed", "The message is not one that an agent sends.")


def _judged(envelope: Any, nodes: dict[str, Node], now: datetime) -> Beat:
    if isinstance(envelope, Refused):
        raise envelope
    name, body = unseal("beat", envelope, lambda asked: wire_key(nodes[asked]) if asked in nodes else None)
    beat = Beat.from_body(body)
    beat.refuse_stale(now=now.timestamp(), boot=nodes[name].boot, seq=nodes[name].beat_seq)
    return beat


# Rows are locked in the order of their ids, here and in orders.py, so that two writers never wait for each other.
WRITE = """
    WITH locked AS (SELECT id FROM cluster_node WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE)
    UPDATE cluster_node AS node
       SET boot = beat.boot, beat_seq = beat.seq, last_seen_at = %(now)s, isolated = beat.isolated,
           hardware_seen = beat.hardware, latest = beat.latest::jsonb
      FROM unnest(%(ids)s::bigint[], %(boots)s::bigint[], %(seqs)s::bigint[], %(isolated)s::boolean[],
                  %(hardware)s::text[], %(latest)s::text[])
           AS beat (id, boot, seq, isolated, hardware, latest) JOIN locked USING (id)
     WHERE node.id = beat.id AND (beat.boot, beat.seq) > (node.boot, node.beat_seq)
 RETURNING node.id
"""


def _write_down(beats: dict[int, Beat], now: datetime) -> set[int]:
    """One statement for the batch; the comparison in it lets no older beat overwrite a newer one."""
    if not beats:
        return set()
    latest = [
        json.dumps(
            {key: value for key, value in beat.to_body().items() if key in ("gpus", "trespass", "findings")}
        )
        for beat in beats.values()
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            WRITE,
            {
                "now": now,
                "ids": list(beats),
                "boots": [beat.boot for beat in beats.values()],
                "seqs": [beat.seq for beat in beats.values()],
                "isolated": [beat.isolated for beat in beats.values()],
                "hardware": [beat.hardware for beat in beats.values()],
                "latest": latest,
            },
        )
        return {row[0] for row in cursor.fetchall()}


def _take_in(node: Node, beat: Beat, now: datetime) -> None:
    """Compare what the node has with what it should have."""
    seen = {run.run: run for run in beat.runs}
    seats = list(live_seats([node.pk]).defer("spec"))
    for seat in seats:
        report = seen.get(seat.run_id)
        if report is not None:
            if _is_news(seat, report):
                runs.observe(seat=seat, seen=report, now=now)
        elif seat.phase == Seat.Phase.RUNNING and _is_newest(node, beat):
            runs.lose(seat=seat, now=now, why=f"{node.name} no longer knows this run.")
    if node.lost_at is not None and set(seen) <= {seat.run_id for seat in seats}:
        _welcome_back(node, now)
    if beat.hardware != node.hardware_digest and beat.hardware != node.hardware_seen:
        _tell_of_change(node, now)


def _is_newest(node: Node, beat: Beat) -> bool:
    """Another pair of ears may have heard a later beat meanwhile, of a run that began since this one."""
    return Node.objects.filter(pk=node.pk, boot=beat.boot, beat_seq=beat.seq).exists()


def _is_news(seat: Seat, report: Any) -> bool:
    """Most beats say nothing new; a seat whose ranks all run is only written when that changes."""
    settled = report.state == "running" and all(rank.state == "running" for rank in report.ranks)
    return not (settled and seat.phase == Seat.Phase.RUNNING)


@transaction.atomic
def _welcome_back(node: Node, now: datetime) -> None:
    """Only once nothing of its former life runs there any more."""
    if Node.objects.filter(pk=node.pk, lost_at__isnull=False).update(lost_at=None):
        note(about=(Entry.Kind.NODE, node.pk), verb="returned", now=now, sentence=f"{node.name} is back")


def _tell_of_change(node: Node, now: datetime) -> None:
    note(
        about=(Entry.Kind.NODE, node.pk),
        verb="hardware",
        now=now,
        sentence=f"{node.name} reports other hardware than was approved; an administrator should look",
    )


def still_listening(*, now: datetime, afresh: bool = False) -> None:
    """Keep the row that says since when, without a gap, beats are heard; afresh: there was one, however short."""
    heard_before = Listening.objects.filter(pk=Listening.ONLY, until__gte=now - GAP)
    if afresh or not heard_before.update(until=now):
        Listening.objects.update_or_create(pk=Listening.ONLY, defaults={"since": now, "until": now})
