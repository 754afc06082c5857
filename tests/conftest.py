"""What every test may ask for; real servers start only when the first test asks for one."""

import os
import signal
from datetime import UTC, datetime

import django
import hypothesis
import pytest
from django.conf import settings

from tests.fixtures import places

if settings.configured:
    raise pytest.UsageError(
        "Unset DJANGO_SETTINGS_MODULE: the tests start servers of their own and set it then."
    )
# Whatever the caller's shell says, no test meets a real portal's servers.
os.environ.update(places.environment())
django.setup()
# Otherwise pytest-django, in a worker of xdist, would load the settings before the worker has its own servers.
del os.environ["DJANGO_SETTINGS_MODULE"]

# A run that a shell put into the background ignores Ctrl-C, and so would everything that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same cases on every machine and at every try; new ones on purpose, with --hypothesis-profile=hunt.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("hunt", derandomize=False, print_blob=True)
hypothesis.settings.load_profile("same")

pytest_plugins = [
    "tests.fixtures.browsers",
    "tests.fixtures.limits",
    "tests.fixtures.phases",
    "tests.fixtures.servers",
]


@pytest.fixture
def now() -> datetime:
    """A fixed moment: time is an argument."""
    return datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
