"""The bell: asks the cycle to think soon. A lost ring costs seconds, because beat ticks anyway."""

import logging
from functools import cache

from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

RUNG = "berth.bell"  # set while a tick is queued, so that a hundred rings make one tick
RUNG_FOR_S = 5


@cache
def redis() -> Redis:
    """The portal's own connection pool to Redis."""
    return Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=1)


def ring() -> None:
    """Please think, once what was written here is committed."""
    transaction.on_commit(_ring, robust=True)


def _ring() -> None:
    from portal.celery import app

    try:
        if redis().set(RUNG, 1, nx=True, ex=RUNG_FOR_S):
            app.send_task("portal.cycle.tick", queue="cycle", expires=RUNG_FOR_S)
    except (RedisError, OperationalError, OSError) as why:
        log.warning("the bell was not heard: %s", why)


def heard() -> None:
    """The cycle begins: rings from now on ask for another one."""
    try:
        redis().delete(RUNG)
    except RedisError as why:  # it runs out by itself
        log.warning("the bell hangs: %s", why)
