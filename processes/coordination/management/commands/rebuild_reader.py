import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.common.correlation import correlated
from processes.coordination.errors import ReaderNotFound
from processes.coordination.maintenance.rebuild import rebuild_reader
from processes.coordination.schema.routing import reader_names


class Command(BaseCommand):
    help = "Fill a reader's database from nothing, while writes go on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="main, or the NAME of READER_DATABASE_URL_<NAME> in small letters")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        try:
            with correlated():
                counts = rebuild_reader(name, progress=self._show)
        except ReaderNotFound as error:
            raise CommandError(f"There is no reader {name}: there are {', '.join(reader_names())}") from error
        if sys.stderr.isatty():
            self.stderr.write("")
        self.stdout.write(", ".join(f"{rows} {entity}" for entity, rows in counts.items()))

    def _show(self, entity: str, rows: int) -> None:
        """Count where somebody watches; how many there will be is not known before the end."""
        if sys.stderr.isatty():
            self.stderr.write(f"\r{entity}: {rows} rows", ending="")
