import os
import socket
from typing import Any

import pika.exceptions
import structlog
from django.core.management.base import BaseCommand

from config.common.background.daemon import Daemon, run_until_signalled
from config.engines.publisher import NotPublished
from sensors.ingest.consumer import Consumer

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "Consume signals from RabbitMQ into the state of the sensors. Start as many as you like."

    def handle(self, *args: Any, **options: Any) -> None:
        run_until_signalled(IngestDaemon())


class IngestDaemon(Daemon):
    """Run one consumer; a lost connection is opened again after the loop's usual pause."""

    def __init__(self) -> None:
        super().__init__(self._consume, every=1.0, name="ingest")

    def _consume(self) -> bool:
        name = f"{socket.gethostname()}:{os.getpid()}"
        log.info("ingest.started", consumer=name)
        try:
            Consumer(name, should_stop=self._stopping.is_set).run()
        except (pika.exceptions.AMQPError, NotPublished) as error:
            log.warning("ingest.disconnected", consumer=name, error=repr(error))
        return False
