from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.runtime.alerts.storage import storage_daemon
from config.runtime.data_lock import InUse, RestoreUnfinished, serving
from config.runtime.web import PortTaken, listen, serve


class Command(BaseCommand):
    help = "Serve the pages, the REST API and the web sockets, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        try:
            listener = listen(settings.ENV.bind_address, settings.ENV.port)
        except PortTaken as taken:
            raise CommandError(str(taken)) from taken
        storage = storage_daemon()
        storage.start()
        try:
            with serving():
                serve(listener)
        except (InUse, RestoreUnfinished) as error:
            raise CommandError(str(error)) from error
        finally:
            storage.stop()
