from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.common.background.daemon import Daemon, run_until_signalled
from sensors.history.consumer import HistoryConsumer
from sensors.history.spool import drain_spool_once
from sensors.history.store import close_stores

LOOK_SECONDS = 0.5


class Command(BaseCommand):
    help = "Write signals from RabbitMQ and from the spool into history, until SIGTERM. Start as many as you like."
    requires_system_checks: list[str] = []  # they load every page and call of the product, which this never needs

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.AMQP_URL:
            raise CommandError("AMQP_URL: must be set; without RabbitMQ the scheduler writes history.")
        consumer = HistoryConsumer()
        queue = Daemon(consumer.run_once, LOOK_SECONDS, "history.queue")
        spool = Daemon(drain_spool_once, settings.HISTORY_SECONDS, "history.spool")
        run_until_signalled(queue, spool)
        if not queue.is_running:
            consumer.close()
            close_stores()
