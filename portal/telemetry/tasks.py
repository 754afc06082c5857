"""Celery's door to telemetry."""

from celery import shared_task
from django.utils import timezone

from portal.telemetry import actions


@shared_task(name="portal.telemetry.sweep")
def sweep() -> None:
    actions.sweep(now=timezone.now())
