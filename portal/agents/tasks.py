"""Celery's door to the agents' room."""

from celery import shared_task

from portal.agents.actions import mend_users as mend


@shared_task(name="portal.agents.mend_users")
def mend_users() -> None:
    mend()
