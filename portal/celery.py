"""The Celery app of the portal: its queues, and the table of what beat rings and when."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("portal")
app.conf.update(
    broker_url=settings.REDIS_URL,
    task_ignore_result=True,
    task_default_queue="work",
    task_routes={"portal.cycle.*": {"queue": "cycle"}},
    accept_content=["json"],
    task_serializer="json",
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A request must not hang on an absent Redis: beat ticks anyway, so a lost bell costs seconds.
    task_publish_retry=False,
    broker_transport_options={
        "socket_timeout": 5,
        "socket_connect_timeout": 1,
        # How often a sender tries to connect; without these it is for ever, or for six seconds.
        "max_retries": 1,
        "interval_start": 0.1,
    },
    timezone="UTC",
    beat_max_loop_interval=1,
    beat_schedule={
        "tick": {"task": "portal.cycle.tick", "schedule": 5.0, "options": {"expires": 5}},
        "mend-users": {"task": "portal.agents.mend_users", "schedule": 5.0, "options": {"expires": 5}},
        "sweep-refusals": {"task": "portal.agents.sweep", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-cycles": {"task": "portal.cycle.sweep", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-readings": {"task": "portal.telemetry.sweep", "schedule": 600.0, "options": {"expires": 600}},
    },
)
app.autodiscover_tasks([f"portal.{room}" for room in settings.ROOMS])


@app.on_after_finalize.connect
def _listen(sender: Celery, **_: object) -> None:
    from portal.agents.ears import Ears  # needs Django's models, which Celery loads first

    sender.steps["worker"].add(Ears)
