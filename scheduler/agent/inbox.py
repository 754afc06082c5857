"""Orders as they come in: checked in full, the newest kept, everything else refused and counted."""

import logging
import threading
import time
from collections.abc import Callable

from scheduler import wire
from scheduler.shape import Refused

log = logging.getLogger("berth.agent")


class Inbox:
    """Filled by the worker's threads, read by the heart."""

    def __init__(self, *, node: str, boot: int, key: bytes, ring: Callable[[], None]) -> None:
        self._node, self._boot, self._key, self._ring = node, boot, key, ring
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}
        self.orders: wire.Orders | None = None
        self.answers = (
            0  # authentic messages so far: the portal lives, even where these orders are not for us
        )
        self.lost_touch = False  # the portal speaks to another boot than ours: it should hear from us at once

    def take(self, envelope: object) -> None:
        try:
            with self._lock:
                self._take(envelope)
        except Refused as why:
            self._say_once_a_minute(why)
        self._ring()

    def _take(self, envelope: object) -> None:
        _, body = wire.unseal("orders", envelope, lambda node: self._key if node == self._node else None)
        orders = wire.Orders.from_body(body)
        self.answers += 1
        self.lost_touch = orders.boot != self._boot
        last = self.orders.seq if self.orders else 0
        orders.refuse_stale(now=time.time(), boot=self._boot, seq=last)
        if self.orders is None:
            log.info("the first orders are here: %s is in service", self._node)
        self.orders = orders

    def _say_once_a_minute(self, why: Refused) -> None:
        now = time.monotonic()
        if now - self._said.get(why.code, -60.0) >= 60.0:
            self._said[why.code] = now
            level = logging.INFO if why.code == "wrong_boot" else logging.WARNING
            log.log(level, "orders refused (%s): %s", why.code, why.sentence)
