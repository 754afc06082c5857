"""`makemigrations --check` without a database: do the migrations say what the models say?"""

import os
import sys

import django
from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.questioner import NonInteractiveMigrationQuestioner
from django.db.migrations.state import ProjectState


def missing() -> list[str]:
    """What `./manage.py makemigrations` would write, a line per change."""
    written = MigrationLoader(None)  # None: it asks no database which of them were applied
    detector = MigrationAutodetector(
        written.project_state(), ProjectState.from_apps(apps), NonInteractiveMigrationQuestioner()
    )
    changes = detector.changes(graph=written.graph)
    return [
        f"{app}: {change.describe()}"
        for app, migrations in changes.items()
        for migration in migrations
        for change in migration.operations
    ]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    if found := missing():
        print("Run ./manage.py makemigrations, these changes have no migration:", *found, sep="\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
