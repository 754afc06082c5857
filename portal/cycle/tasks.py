"""Celery's door to the cycle."""

from celery import shared_task
from django.utils import timezone

from portal import bell
from portal.cycle import actions


@shared_task(name="portal.cycle.tick")
def tick() -> None:
    """Think now. Rings that come from here on ask for another turn."""
    bell.heard()
    actions.turn(now=timezone.now())


@shared_task(name="portal.cycle.sweep")
def sweep() -> None:
    actions.sweep(now=timezone.now())
