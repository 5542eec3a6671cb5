from typing import Any

from django.core.management.base import BaseCommand

from config.common.background.daemon import run_until_signalled
from config.runtime.alerts.database_watch import watch_daemon


class Command(BaseCommand):
    help = "Mail and text ADMIN_EMAIL and ADMIN_PHONE when the database is away, and when it is back, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        run_until_signalled(watch_daemon())
