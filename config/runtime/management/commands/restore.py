from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.runtime.backup.archive import ArchiveDamaged
from config.runtime.backup.database import CopyFailed
from config.runtime.backup.restore import RestoreRefused, restore_backup
from config.runtime.data_lock import InUse


class Command(BaseCommand):
    help = "Put a backup back: into an empty installation, or with --replace in place of what is there."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `manage.py backup` has written")
        parser.add_argument("--replace", action="store_true", help="keep aside what is there, and take its place")

    def handle(self, *, file: Path, replace: bool, **options: Any) -> None:
        try:
            restore_backup(file, replaces=replace, progress=self._show, say=self._say)
        except ArchiveDamaged as damaged:
            raise CommandError(f"{file} is not a whole backup, and nothing was changed: {damaged}") from damaged
        except InUse as error:
            raise CommandError(f"{error} Stop every process of Postern first.") from error
        except (RestoreRefused, CopyFailed, OSError) as error:
            raise CommandError(str(error)) from error
        self._say("Restored. Start Postern as usual.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _show(self, what: str, done: int, of: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{what}: {done}" + (f" of {of} " if of else " "), ending="")
            self.stdout.flush()
