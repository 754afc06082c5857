"""Migrating is left out only while nothing it looks at has changed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from portal.up import tables
from portal.up.postgres import Postgres


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = Postgres(tmp_path / "pg", fast=True)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "checkout"
    (place / "portal" / "jobs" / "migrations").mkdir(parents=True)
    shutil.copy(tables.ROOT / "requirements.lock", place)
    monkeypatch.setattr(tables, "ROOT", place)
    return place


def test_the_same_code_on_the_same_tables_is_the_same(url: str, checkout: Path) -> None:
    assert tables.fingerprint(url) == tables.fingerprint(url)


def test_a_new_migration_changes_it(url: str, checkout: Path) -> None:
    before = tables.fingerprint(url)
    migration = checkout / "portal" / "jobs" / "migrations" / "0001_initial.py"
    migration.write_text("operations = []")
    new = tables.fingerprint(url)
    migration.write_text("operations = [1]")
    assert len({before, new, tables.fingerprint(url)}) == 3


def test_another_lock_changes_it(url: str, checkout: Path) -> None:
    before = tables.fingerprint(url)
    (checkout / "requirements.lock").write_text("django==6.0")
    assert tables.fingerprint(url) != before


def test_a_migration_that_somebody_took_back_changes_it(url: str, checkout: Path) -> None:
    with psycopg.connect(url) as link:
        link.execute("create table django_migrations (app text, name text)")
        link.execute("insert into django_migrations values ('jobs', '0001_initial')")
    before = tables.fingerprint(url)
    with psycopg.connect(url) as link:
        link.execute("delete from django_migrations")
    assert tables.fingerprint(url) != before
