"""House rules about what the code is once it is loaded: addresses, reasons, migrations, rooms."""

from django.conf import settings
from django.urls import get_resolver

from portal.checks.migrations import missing
from scheduler.core.explain import sentence
from scheduler.core.reasons import Reason
from tests.house.doors import undeclared
from tests.house.rooms import ROOMS
from tests.house.wording import unworded


def test_every_address_declares_who_may_use_it() -> None:
    wrong = undeclared(get_resolver().url_patterns)
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_reason_has_a_sentence() -> None:
    assert not unworded(Reason, sentence)


def test_no_migration_is_missing() -> None:
    assert not missing(), "run ./manage.py makemigrations"


def test_the_rooms_of_the_settings_are_the_rooms_of_the_house() -> None:
    assert set(settings.ROOMS) == ROOMS
