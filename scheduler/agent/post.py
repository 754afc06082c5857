"""Takes beats to the broker: a kombu producer of its own, with time-outs, in the heart's thread."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kombu import Connection, Producer
from kombu.exceptions import KombuError
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

TIMEOUT_S = 2.0
UNWELCOME_S = 30.0  # how long the broker may refuse us before we ask the portal for fresh credentials

_FAILURES = (OSError, RedisError, KombuError)

log = logging.getLogger("berth.agent")


class BrokerPost:
    """Beats go to the default exchange, so that sending one is a single LPUSH to `beats`."""

    def __init__(self, url: str, unwelcome: Callable[[], None] = lambda: None) -> None:
        self._connection = Connection(
            url,
            transport_options={
                "socket_timeout": TIMEOUT_S,
                "socket_connect_timeout": TIMEOUT_S,
                "socket_keepalive": True,
            },
        )
        self._producer: Producer | None = None
        self._unwelcome = unwelcome
        self._refused_since: float | None = None
        self._said = ""

    def send(self, envelope: dict[str, Any]) -> bool:
        try:
            if self._producer is None:
                self._connection.ensure_connection(max_retries=0)  # kombu's own pause would hold up the heart
                self._producer = Producer(self._connection.channel(), auto_declare=False)
            self._producer.publish(envelope, exchange="", routing_key="beats", serializer="json")
        except _FAILURES as why:
            self._drop()
            self._note(why)
            return False
        if self._said:
            log.info("beats are sent again")
        self._said, self._refused_since = "", None
        return True

    def _drop(self) -> None:
        self._producer = None
        with suppress(*_FAILURES):
            self._connection.collect(socket_timeout=TIMEOUT_S)

    def _note(self, why: Exception) -> None:
        cause = why.__cause__ or why  # kombu wraps what it met while connecting
        words = f"beats cannot be sent: {cause}"
        if words != self._said:
            log.warning("%s", words)
            self._said = words
        if not isinstance(cause, AuthenticationError | NoPermissionError):
            self._refused_since = None
            return
        now = time.monotonic()
        self._refused_since = self._refused_since or now
        if now - self._refused_since > UNWELCOME_S:
            self._unwelcome()
