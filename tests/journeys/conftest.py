"""One `up` with the demo's eight agents for all journeys."""

from collections.abc import Iterator

import pytest

from tests.faults.person import Person
from tests.faults.whole import Whole


@pytest.fixture(scope="package")
def whole() -> Iterator[Whole]:
    up = Whole(agents=8)
    try:
        yield up.start()
    finally:
        left = up.leave()
    assert not left, "this outlived its `up`:\n" + "\n".join(left)


@pytest.fixture(scope="package")
def person(whole: Whole) -> Person:
    """The engineer at the API, with whose answers pages are compared."""
    return Person(whole)


@pytest.fixture
def address(whole: Whole) -> str:
    return f"http://127.0.0.1:{whole.port}"
