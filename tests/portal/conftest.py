"""What the portal's tests may ask for: a stage, a link to Valkey, callers of the API, counted queries."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from redis import Redis

from tests.portal.stage import Stage


@pytest.fixture
def link(redis_url: str) -> Iterator[Redis]:
    """A Valkey that is empty."""
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def stage(db: None, link: Redis, now: datetime) -> Stage:
    """Teams and people at a fixed moment; nodes come when a test adds them."""
    return Stage(now).furnish()


@pytest.fixture
def stage_now(db: None, link: Redis) -> Stage:
    """The same, at the real time: for tests that go through doors, which look at the clock."""
    return Stage(timezone.now()).furnish()


@pytest.fixture
def stage_shared(transactional_db: None, link: Redis) -> Stage:
    """The same, committed for all to see: for tests with threads and processes of their own."""
    return Stage(timezone.now()).furnish()


Counter = Callable[[], AbstractContextManager[CaptureQueriesContext]]


@pytest.fixture
def signed_in() -> Callable[..., Client]:
    """A browser in which a person is signed in."""

    def sign_in(user: object, **options: object) -> Client:
        client = Client(**options)
        client.force_login(user)
        return client

    return sign_in


@contextmanager
def counted() -> Iterator[CaptureQueriesContext]:
    """The queries of the block."""
    with CaptureQueriesContext(connection) as queries:
        yield queries
