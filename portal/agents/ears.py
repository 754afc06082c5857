"""The ears: a bootstep of the `work` worker that reads beats in batches and hands them to one function."""

import logging
import threading
from typing import Any

from celery import bootsteps
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from portal.agents.fences import BEATS
from portal.agents.hearing import hear, still_listening

log = logging.getLogger(__name__)

BATCH = 256
WAIT_S = 1


class Ears(bootsteps.StartStopStep):
    """Reads `beats` with a connection and a thread of its own, so that a busy task cannot stop it."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **_: Any) -> None:
        self.thread: threading.Thread | None = None
        self.over = threading.Event()
        self.enabled = "work" in worker.app.amqp.queues.consume_from

    def start(self, worker: Any) -> None:
        if self.enabled:
            self.thread = threading.Thread(
                target=self._listen, args=(worker.app.conf.broker_url,), name="ears"
            )
            self.thread.daemon = True
            self.thread.start()

    def stop(self, parent: Any) -> None:
        self.over.set()
        if self.thread:
            self.thread.join(timeout=WAIT_S + 2)

    def terminate(self, parent: Any) -> None:
        self.stop(parent)

    def _listen(self, url: str) -> None:
        client = Redis.from_url(url, socket_timeout=WAIT_S + 5, socket_connect_timeout=2)
        deaf = True  # until the first answer of Redis, and after every error: nodes then get their time anew
        while not self.over.is_set():
            try:
                listen_once(client, afresh=deaf)
                deaf = False
            except (RedisError, OSError) as why:
                log.warning("cannot hear beats: %s", why)
                deaf = True
                self.over.wait(1)
            # Beats in hand are lost; agents send the whole state again. ValueError: text that psycopg cannot encode.
            except (DatabaseError, ValueError) as why:
                log.warning("cannot write down what was heard: %s", why)
                connection.close()
                deaf = True
                self.over.wait(1)


def listen_once(client: Redis, wait_s: int = WAIT_S, *, afresh: bool = False) -> int:
    """One batch: what is there, or what comes within a second. Returns how many beats were read."""
    first = client.brpop([BEATS], timeout=wait_s)
    batch: list[Any] = [first[1], *(client.rpop(BEATS, BATCH - 1) or [])] if first else []
    close_old_connections()
    now = timezone.now()
    still_listening(now=now, afresh=afresh)
    if batch:
        hear(batch, now=now)
    return len(batch)
