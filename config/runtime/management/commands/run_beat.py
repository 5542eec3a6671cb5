from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.celery import app


class Command(BaseCommand):
    help = "Run beat, which starts the hourly and daily upkeep on the workers, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        if not settings.AMQP_URL:
            raise CommandError("Beat needs a broker: set AMQP_URL. Without one the scheduler does its work.")
        app.start(["--quiet", "beat", "--pidfile", "", "--loglevel", settings.ENV.log_level])
