"""Celery's door to the agents' room."""

from celery import shared_task
from django.utils import timezone

from portal.agents import refusals
from portal.agents.actions import mend_users as mend


@shared_task(name="portal.agents.mend_users")
def mend_users() -> None:
    mend()


@shared_task(name="portal.agents.sweep")
def sweep() -> None:
    refusals.sweep(now=timezone.now())
