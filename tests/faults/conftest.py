"""One `up` with three agents for all faults: what one test does to it, the next one finds mended."""

from collections.abc import Iterator

import pytest

from tests.faults.person import Person
from tests.faults.whole import Whole


@pytest.fixture(scope="package")
def whole() -> Iterator[Whole]:
    up = Whole(agents=3)
    try:
        yield up.start()
    finally:
        left = up.leave()
    assert not left, "this outlived its `up`:\n" + "\n".join(left)


@pytest.fixture(scope="package")
def person(whole: Whole) -> Person:
    return Person(whole)
