"""The agent as a Celery worker: one queue, one task, a heart that is started as a bootstep."""

import logging
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from celery import Celery, bootsteps
from celery.exceptions import WorkerShutdown
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from kombu import Queue

from scheduler.agent.join import Membership

TASK = "agent.orders"

log = logging.getLogger("berth.agent")


class Part(Protocol):
    """Something with a thread of its own; neither call blocks."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class AgentApp(Celery[Any]):
    """Carries what the worker's parts need to know of each other."""

    take_orders: Callable[[object], None]
    parts: Sequence[Part]


class OrdersConsumer(Consumer):
    """Knows `agent.orders` and nothing else.

    Celery's own way would build a Request and run it through the tracer, which publishes whatever callbacks,
    chains, chords and error callbacks the message carries, and every app knows `celery.group` and its kin.
    Here the envelope is taken out of the arguments and handed to the pool: there is nothing else to obey.
    """

    app: AgentApp
    strategies: dict[str, Any]
    connection_errors: tuple[type[Exception], ...]

    def update_strategies(self) -> None:
        self.strategies.clear()
        self.strategies[TASK] = self.on_orders

    def on_orders(self, message: Any, _payload: Any, ack: Any, *_: Any) -> None:
        try:
            (envelope,) = message.payload[0]
        except (ValueError, LookupError, TypeError):
            log.warning("orders refused (malformed): the message has not one argument")
        else:
            self.pool.apply_async(self.app.take_orders, args=(envelope,), callback=lambda _: None)
        ack(log, self.connection_errors)

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        self._turn_away(message, f"this agent knows no task {str(exc)[:100]}")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        self._turn_away(message, "not a task")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        self._turn_away(message, str(exc)[:100])

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        self._turn_away(message, str(exc)[:100])

    def _turn_away(self, message: Any, why: str) -> None:
        log.warning("a message was thrown away: %s", why)
        message.ack_log_error(log, self.connection_errors)

    def ensure_connected(self, conn: Any) -> Any:
        """For ever, and at most three seconds after the broker is back; one line per change of cause."""
        said: list[str] = []

        def complain(exc: Exception, _wait_s: float) -> None:
            if [str(exc)] != said:
                said[:] = [str(exc)]
                log.warning("the broker is away: %s", exc)

        conn = conn.ensure_connection(
            complain,
            None,
            interval_start=0.25,
            interval_step=0.5,
            interval_max=3,
            callback=state.maybe_shutdown,
        )
        self.first_connection_attempt = False
        return conn


class HeartStep(bootsteps.StartStopStep):
    """Starts the heart before the consumer connects. It beats in a thread of its own and not on the worker's
    timer, which shares its thread with the consumer and stands still while that one waits for the broker.
    """

    requires = ("celery.worker.components:Timer",)

    def start(self, parent: WorkController) -> None:
        for part in parent.app.parts:
            part.start()

    def stop(self, parent: WorkController) -> None:
        for part in parent.app.parts:
            part.stop()


def make_app(membership: Membership, *, take: Callable[[object], None], parts: Sequence[Part]) -> AgentApp:
    # No fix-ups: with DJANGO_SETTINGS_MODULE in the environment Celery would import Django.
    app = AgentApp("berth.agent", broker=membership.redis_url, fixups=[], set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_create_missing_queues=False,
        # Orders say everything each time: one lost is made good by the next, so none is ever redelivered.
        task_queues=[Queue(membership.queue, exchange="", routing_key=membership.queue, no_ack=True)],
        task_default_queue=membership.queue,
        worker_enable_remote_control=False,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_hijack_root_logger=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,
        broker_transport_options={
            # No acknowledgements to keep, so no sweep for lost ones, whose lock would need Lua in Redis.
            "ack_emulation": False,
            "priority_steps": [0],
            "health_check_interval": 5,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "socket_keepalive": True,
        },
    )
    app.task(name=TASK, ignore_result=True)(take)
    app.take_orders, app.parts = take, parts
    app.steps["worker"].add(HeartStep)
    return app


def run(app: AgentApp, *, name: str, queue: str) -> int:
    """Until SIGTERM or SIGINT; the ranks go on. The exit code, for whoever restarts us."""
    worker = WorkController(
        app=app,
        hostname=name,
        queues=[queue],
        pool_cls="threads",
        concurrency=1,
        consumer_cls=OrdersConsumer,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        task_events=False,
        loglevel="WARNING",
    )
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, _leave)
    worker.start()
    return worker.exitcode or 0


def stop() -> None:
    """From any thread."""
    os.kill(os.getpid(), signal.SIGTERM)


def _leave(*_: object) -> None:
    """An exception, and not Celery's flag: the flag is looked at only when the event loop wakes up by itself."""
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)  # once is enough; a second one would cut the leave-taking short
    raise WorkerShutdown(0)
