"""Puts the parts of a joined agent together and lets them work."""

import time
from dataclasses import dataclass, field

from scheduler.agent import worker
from scheduler.agent.boot import State
from scheduler.agent.door import Door
from scheduler.agent.inbox import Inbox
from scheduler.agent.join import Membership
from scheduler.agent.logship import LogShip
from scheduler.agent.loop import Doorbell, Heart
from scheduler.agent.nvml import Sensor
from scheduler.agent.outbox import Outbox
from scheduler.agent.post import BrokerPost
from scheduler.agent.ranks import Ranks
from scheduler.agent.specs import Specs
from scheduler.agent.watch import Watch

PATIENCE_S = 30.0  # between two joins, where the portal takes us in and yet refuses us


@dataclass(slots=True)
class Assembly:
    name: str
    portal: str
    state: State
    membership: Membership
    started_at: float = field(default_factory=time.monotonic)
    unwelcome: bool = False

    def work(self, sensor: Sensor, *, isolated: bool, hardware: str) -> int | None:
        """Until told to end; the exit code. None where the portal or the broker no longer knows us."""
        key, bell = self.membership.wire_key, Doorbell(self.state.doorbell)
        ranks = Ranks(self.state, node=self.name, isolated=isolated, gpus=[gpu.uuid for gpu in sensor.gpus])
        specs, logs, watch = Specs(self._door(), bell.ring), LogShip(self._door(), ranks), Watch(sensor)
        inbox = Inbox(node=self.name, boot=self.state.boot, key=key, ring=bell.ring)
        post = BrokerPost(self.membership.redis_url, self.turned_away)
        heart = Heart(
            node=self.name,
            boot=self.state.boot,
            isolated=isolated,
            hardware=hardware,
            ranks=ranks,
            specs=specs,
            watch=watch,
            inbox=inbox,
            outbox=Outbox(key=key, post=post),
            bell=bell,
        )
        app = worker.make_app(self.membership, take=inbox.take, parts=[watch, specs, logs, heart])
        code = worker.run(app, name=self.name, queue=self.membership.queue)
        return None if self.unwelcome else code

    def turned_away(self) -> None:
        if time.monotonic() - self.started_at > PATIENCE_S:
            self.unwelcome = True
            worker.stop()

    def _door(self) -> Door:
        return Door(self.portal, self.membership.token, turned_away=self.turned_away)
