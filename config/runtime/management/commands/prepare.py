from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.runtime.preparation import ADMIN, DatabaseUnreachable, prepare


class Command(BaseCommand):
    help = "Bring the database, the static files and the schedule up to date; create the first admin user."

    def handle(self, **options: Any) -> None:
        try:
            password = prepare(self._say)
        except DatabaseUnreachable as error:
            raise CommandError(str(error)) from error
        address = settings.PUBLIC_URL.geturl().rstrip("/") + "/admin/"
        if password is None:
            self._say(f"Postern: {address}")
            return
        self._say("")
        self._say(f"    Postern:   {address}")
        self._say(f"    User:      {ADMIN}")
        self._say(f"    Password:  {password}")
        self._say("    This password is shown only now.")
        self._say("")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
