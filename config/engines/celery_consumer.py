"""The consumer of a Celery worker, which no message of its queue can end.

Anybody with access to the broker can send what py-amqp cannot decode (a time in milliseconds, an id of bytes) or what
Celery takes for a task and stumbles over. Both would end the worker, whose successor is given the same message. Here it
is refused, counted and logged. A ring that is lost so is no loss: whatever is due is found without it.
"""

import logging
from collections.abc import Callable
from typing import Any

import structlog
from amqp.serialization import GenericContent
from celery.worker.consumer import Consumer

from config.engines.amqp_messages import REJECTED

log = structlog.get_logger(__name__)

_content: Any = GenericContent  # its types leave out what is private
_load_properties = _content._load_properties


def _load_or_leave_out(content: Any, class_id: int, buffer: bytes, offset: int) -> Any:
    """Load the properties of a message; leave them all out where they cannot be decoded."""
    try:
        return _load_properties(content, class_id, buffer, offset)
    except Exception as error:  # noqa: BLE001  (whatever the decoder makes of bytes from outside)
        log.warning("amqp.properties_undecoded", error=repr(error)[:200])
        content.properties = {}
        return offset


class TolerantConsumer(Consumer):
    """Refuses a message on which Celery's own handling fails."""

    connection_errors: tuple[type[BaseException], ...]
    channel_errors: tuple[type[BaseException], ...]

    def __init__(self, *args: Any, **options: Any) -> None:
        # Here, not where the app is made: only a worker reads messages with py-amqp, which has no place to hook in.
        _content._load_properties = _load_or_leave_out
        super().__init__(*args, **options)

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        handle = super().create_task_handler(*args, **options)
        elsewhere: tuple[type[BaseException], ...] = (
            *self.connection_errors,
            *self.channel_errors,
            MemoryError,
        )

        def handle_or_refuse(message: Any) -> None:
            try:
                handle(message)
            except elsewhere:
                raise
            except Exception as error:  # noqa: BLE001  (Celery checks little of what it finds in a message)
                REJECTED.labels(self.app.conf.task_default_queue).inc()
                log.warning("celery.message_refused", error=repr(error)[:200])
                if not message.acknowledged:
                    message.reject_log_error(logging.getLogger(__name__), self.connection_errors)

        return handle_or_refuse
