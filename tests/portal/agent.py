"""A played agent: it keeps what it runs, says so in sealed beats, and obeys the orders it finds in its queue."""

import base64
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from redis import Redis

from portal.agents.fences import queue_of
from portal.agents.keys import wire_key
from portal.cluster.models import Node
from portal.jobs.models import Run, Seat
from scheduler.wire import Beat, GpuSeen, Orders, RankSeen, RunSeen, seal, unseal


@dataclass
class PlayedAgent:
    """What a node's agent knows; tests change `runs` and let it beat."""

    node: Node
    boot: int = 1_000
    seq: int = 0
    orders_seq: int = 0
    runs: dict[int, RunSeen] = field(default_factory=dict)
    hardware: str = ""

    def start(self, run: Run) -> None:
        """Every rank of the run's seat here runs."""
        seat = Seat.objects.get(run=run, node=self.node)
        ranks = tuple(RankSeen(rank["rank"], "running", started_at=1.8e9) for rank in seat.spec["ranks"])
        self.runs[run.pk] = RunSeen(run.pk, run.epoch, "running", ranks=ranks)

    def end(self, run: Run, *, exits: dict[int, int | None] | None = None, signal: int | None = None) -> None:
        """Every rank of the run is over: with 0, with what `exits` says (None: nobody knows), or by a signal."""
        seen = self.runs[run.pk]
        ranks = tuple(
            replace(
                rank, state="ended", ended_at=1.8e9 + 1, signal=signal,
                exit=None if signal else (exits or {}).get(rank.rank, 0),
            )
            for rank in seen.ranks
        )  # fmt: skip
        self.runs[run.pk] = replace(seen, state="ended", ranks=ranks)

    def end_rank(self, run: Run, rank: int, exit_code: int) -> None:
        """One rank is over, the others go on."""
        seen = self.runs[run.pk]
        ranks = tuple(
            replace(each, state="ended", exit=exit_code, ended_at=1.8e9 + 1) if each.rank == rank else each
            for each in seen.ranks
        )
        self.runs[run.pk] = replace(seen, ranks=ranks)

    def forget(self, run: Run) -> None:
        del self.runs[run.pk]

    def restart(self) -> None:
        """A new life of the agent: its ranks outlive it."""
        self.boot, self.seq, self.orders_seq = self.boot + 1, 0, 0

    def beat(self, now: datetime, **changed: Any) -> bytes:
        """The next beat, as it lies in the queue."""
        self.seq += 1
        fields: dict[str, Any] = {
            "node": self.node.name, "boot": self.boot, "seq": self.seq, "sent_at": now.timestamp(),
            "expires_at": now.timestamp() + 60, "agent": "played", "orders_seq": self.orders_seq,
            "isolated": True, "hardware": self.hardware or self.node.hardware_digest,
            "gpus": tuple(GpuSeen(gpu["uuid"], gpu["slot"], 50.0, 1024, 40.0, 300.0)
                          for gpu in self.node.hardware["gpus"]),
            "runs": tuple(self.runs.values()),
        }  # fmt: skip
        body = Beat(**(fields | changed)).to_body()
        return as_message(seal("beat", self.node.name, body, wire_key(self.node)))

    def orders(self, link: Redis) -> Orders | None:
        """The newest orders in the queue, taken out of it; None where there are none."""
        raw = link.rpop(queue_of(self.node.name))
        if raw is None:
            return None
        (envelope,), _, _ = json.loads(base64.b64decode(json.loads(raw)["body"]))
        _, body = unseal("orders", envelope, lambda _: wire_key(self.node))
        found = Orders.from_body(body)
        found.refuse_stale(now=found.sent_at, boot=self.boot, seq=self.orders_seq)
        self.orders_seq = found.seq
        return found


def as_message(envelope: object) -> bytes:
    """As kombu puts it on the list."""
    body = base64.b64encode(json.dumps(envelope).encode()).decode()
    return json.dumps({"body": body, "properties": {"body_encoding": "base64"}, "headers": {}}).encode()
