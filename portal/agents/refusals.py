"""Counting beats that were refused: by node, cause and minute, logged once in each."""

import logging
from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from portal.agents.models import Refusal
from scheduler.shape import Refused

log = logging.getLogger(__name__)

STRANGER = "unknown"  # whoever is no node of ours; one name for all, so that a flood of names fills no table
KEPT = timedelta(days=7)


class Count:
    """The refusals of one batch."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known
        self.found: Counter[tuple[str, str]] = Counter()
        self.words: dict[tuple[str, str], str] = {}

    def add(self, envelope: Any, refused: Refused) -> None:
        claimed = envelope.get("node") if isinstance(envelope, dict) else None
        key = (claimed if isinstance(claimed, str) and claimed in self.known else STRANGER, refused.code)
        self.found[key] += 1
        self.words.setdefault(key, refused.sentence[:300])

    def write(self, *, now: datetime) -> None:
        minute = now.replace(second=0, microsecond=0)
        for (name, code), times in self.found.items():
            words = self.words[name, code]
            row, first = Refusal.objects.get_or_create(
                node_name=name, code=code, minute=minute, defaults={"sentence": words, "count": times}
            )
            if first:
                log.warning("beat of %s refused (%s): %s", name, code, words)
            else:
                Refusal.objects.filter(pk=row.pk).update(count=F("count") + times)


def sweep(*, now: datetime) -> None:
    """Counts live a week."""
    Refusal.objects.filter(minute__lt=now - KEPT).delete()
