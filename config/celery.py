"""The Celery app: workers on RabbitMQ, rung by `config/common/background/ring.py` and by beat; no result is kept."""

import os
from typing import Any

from celery import Celery, Task, signals
from django.conf import settings
from kombu import Exchange, Queue

from config.common.background.process_control import die_with_parent
from config.common.background.work import stop_background_work
from config.common.correlation import PATTERN, correlated, correlation_id

QUEUE = "postern.tasks"
CORRELATION_HEADER = "postern_correlation_id"
WORK_GRACE_SECONDS = 3.0


class CorrelatedTask(Task):  # type: ignore[type-arg]
    """A task that runs under the correlation id of whoever sent it, or under a new one."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        sent = str(self.request.get(CORRELATION_HEADER) or "")
        with correlated(sent if PATTERN.fullmatch(sent) else None):
            return self.run(*args, **kwargs)


app = Celery("postern", task_cls=CorrelatedTask)
app.conf.update(
    broker_url=settings.AMQP_URL or "memory://",
    # Wait for the broker for ever, at the start too, and notice within seconds that it has gone.
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_connection_timeout=3,
    broker_heartbeat=10,
    task_queues=[Queue(QUEUE, Exchange(QUEUE, type="direct", durable=True), routing_key=QUEUE, durable=True)],
    task_default_queue=QUEUE,
    task_default_exchange=QUEUE,
    task_default_routing_key=QUEUE,
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    result_expires=None,
    # A worker that dies gives its task back; every task is safe to run twice.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_consumer="config.engines.celery_consumer:TolerantConsumer",
    worker_cancel_long_running_tasks_on_connection_loss=True,
    # RabbitMQ closes a channel that holds a message for half an hour: no task comes near that.
    task_soft_time_limit=240,
    task_time_limit=300,
    worker_concurrency=2,
    # Nobody listens to either, and newer brokers no longer allow the kind of queue they use.
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    timezone="UTC",
    enable_utc=True,
)
# Threads that did not import this module find the app as well.
app.set_default()
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_the_logs(**_: Any) -> None:
    """Configure nothing: the settings have done it, and a receiver keeps Celery from doing it over."""


@signals.before_task_publish.connect
def _send_correlation_id(headers: dict[str, Any], **_: Any) -> None:
    headers[CORRELATION_HEADER] = correlation_id() or None


@signals.worker_process_init.connect
def _die_with_the_worker(**_: Any) -> None:
    die_with_parent(os.getppid())


@signals.worker_process_shutdown.connect
def _end_what_is_under_way(**_: Any) -> None:
    stop_background_work(WORK_GRACE_SECONDS)
