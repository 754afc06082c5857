"""Tries to sign in, counted in Redis for a few minutes: guessing a password takes longer than it is worth."""

import logging
from dataclasses import dataclass

from redis.exceptions import RedisError

from portal.accounts.queries import digest
from portal.bell import redis

log = logging.getLogger(__name__)

MOST = 5  # wrong tries for one account from one address
MOST_FROM_ADDRESS = 50  # wrong tries for any accounts from one address
MOST_FOR_ACCOUNT = 100  # wrong tries for one account from anywhere: who has many addresses guesses slowly too
PAUSE_S = 300


@dataclass(frozen=True, slots=True)
class Try:
    """One try: how many are left after it, and how long to wait where there was none left for it."""

    left: int
    wait_s: int = 0


def begin(*, email: str, address: str) -> Try:
    """Count the try before the password is looked at, so that a hundred at once are not a hundred tries."""
    try:
        here = _count(_key(address), MOST_FROM_ADDRESS)
        mine = here if here.wait_s else _count(_key(address, email), MOST)
        if mine.wait_s:
            return mine
        everywhere = _count(_key("anywhere", email), MOST_FOR_ACCOUNT)
        return everywhere if everywhere.wait_s else mine
    except RedisError as why:  # nobody is locked out because Redis is away
        log.warning("tries to sign in are not counted: %s", why)
        return Try(left=MOST)


def forgive(*, email: str, address: str) -> None:
    """It was the right password: only wrong ones count."""
    try:
        redis().delete(_key(address, email))
        for key in (_key(address), _key("anywhere", email)):
            redis().decr(key)
    except RedisError as why:
        log.warning("tries to sign in are not forgotten: %s", why)


def _key(*parts: str) -> str:
    """What people typed stays out of Redis: only a digest of it is kept.

    PostgreSQL finds an address by its capitals, and a dotless i has the same one as i.
    """
    return f"berth.tries.{digest(chr(0).join(parts).upper().casefold())[:32]}"


def _count(key: str, most: int) -> Try:
    with redis().pipeline() as steps:
        steps.incr(key)
        steps.expire(key, PAUSE_S, nx=True)
        steps.ttl(key)
        counted, _, left_s = steps.execute()
    if counted > most:
        return Try(left=0, wait_s=max(1, left_s))
    redis().expire(key, PAUSE_S)  # the pause counts from the last try that was one
    return Try(left=most - counted)
