"""Reading the journal."""

from django.db.models import QuerySet

from portal.journal.models import Entry


def about(kind: Entry.Kind, subject: int) -> QuerySet[Entry]:
    """What happened to one thing, newest first."""
    return Entry.objects.filter(kind=kind, subject=subject).select_related("actor")
