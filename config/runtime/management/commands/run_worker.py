from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.celery import app


class Command(BaseCommand):
    help = "Run the Celery workers, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        if not settings.AMQP_URL:
            raise CommandError("Workers need a broker: set AMQP_URL. Without one the server does their work.")
        app.start(["--quiet", "worker", "--without-gossip", "--without-mingle", "--loglevel", settings.ENV.log_level])
