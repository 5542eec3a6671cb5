from typing import Any

from django.core.management.base import BaseCommand

from config.runtime.scheduler import Scheduler


class Command(BaseCommand):
    help = "Do whatever work is due, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        Scheduler().run()
