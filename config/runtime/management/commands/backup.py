from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.common.errors import ApplicationError, VolumeAway
from config.runtime.backup.create import create_backup
from config.runtime.backup.database import CopyFailed


class Command(BaseCommand):
    help = "Write one file with the database, the messages, keys and settings, while everything runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="where to; a file of that name is replaced when the new one is whole"
        )

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            manifest = create_backup(file.absolute(), self._show)
        except VolumeAway as away:
            raise CommandError(away.words) from away
        except (CopyFailed, ApplicationError, OSError) as error:
            raise CommandError(f"No backup was written: {error}") from error
        if self.stdout.isatty():
            self.stdout.write("")
        size = file.stat().st_size
        self.stdout.write(f"{file}: {manifest.members} members, {size} bytes, of {manifest.made_at}.")
        self.stdout.write("It holds keys and passwords: keep it as you keep those.")

    def _show(self, what: str, done: int, of: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{what}: {done} of {of} ", ending="")
            self.stdout.flush()
