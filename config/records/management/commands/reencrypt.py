from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.records.reencryption import reencrypt

NEXT = "Run this once more when every process has been started with this FIELD_KEYS: others still write by the old key."
DONE = "Nothing is left under the other keys: they can be dropped from FIELD_KEYS."


class Command(BaseCommand):
    help = "Encrypt every stored secret and answer anew under the first of FIELD_KEYS, while everything runs."

    def handle(self, **options: Any) -> None:
        report = reencrypt(self._show)
        if self.stdout.isatty():
            self.stdout.write("")
        self.stdout.write(f"{report.changed} values are now under the first key.")
        if report.unreadable:
            raise CommandError(
                f"{report.unreadable} values cannot be read by any of FIELD_KEYS: put the key back that encrypted them."
            )
        if len(settings.FIELD_KEYS) > 1:
            self.stdout.write(NEXT if report.changed else DONE)

    def _show(self, label: str, rows: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{label}: {rows} rows ", ending="")
            self.stdout.flush()
