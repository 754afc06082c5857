"""A small `up` for each test that wants one, and the promise that it leaves nothing behind."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.up.descendants import end, marked
from tests.up.harness import SmallUp


@pytest.fixture
def up(tmp_path: Path) -> Iterator[SmallUp]:
    """Not started yet, so that a test can set it up first."""
    small = SmallUp(tmp_path)
    yield small
    if small.running is not None and not small.has_ended():
        small.end(signal.SIGINT)
    end(lambda: marked(f"JOURNAL={tmp_path / 'journal'}"), patience_s=0)  # after a failed test
