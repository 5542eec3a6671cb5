import os
import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.runtime.web import PortTaken, listen, serve

LISTENER_VARIABLE = "POSTERN_LISTENER"


class Command(BaseCommand):
    help = "Serve the pages, the REST API and the web sockets, until SIGTERM."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        serve(self._listener())

    def _listener(self) -> socket.socket:
        """Take over the supervisor's socket, on which callers wait while this process is started again."""
        inherited = os.environ.get(LISTENER_VARIABLE)
        if inherited:
            return socket.socket(fileno=int(inherited))
        try:
            return listen(settings.ENV.bind_address, settings.ENV.port)
        except PortTaken as taken:
            raise CommandError(str(taken)) from taken
