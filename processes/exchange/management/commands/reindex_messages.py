import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.common.correlation import correlated
from config.common.errors import VolumeAway
from messaging.files.volume import adopt_volume
from processes.exchange.reindex.walk import Report, reindex


class Command(BaseCommand):
    help = "Bring the rows of messages and their files together again, from the names of the files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--after-restore",
            action="store_true",
            help="the database was restored older than the disk: Log, Error and Unknown win over the rows",
        )
        parser.add_argument(
            "--adopt-volume",
            action="store_true",
            help="take the folder of the messages for the right one, though its marker is missing or another's",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with correlated():
            if options["adopt_volume"]:
                adopt_volume(forced=True)
            try:
                report = reindex(after_restore=options["after_restore"], progress=self._show)
            except VolumeAway as away:
                raise CommandError(away.words) from away
        self._print_report(report)

    def _show(self, files: int) -> None:
        """Count where somebody watches; how many there will be is not known before the end."""
        if sys.stderr.isatty():
            self.stderr.write(f"\r{files} files", ending="")

    def _print_report(self, report: Report) -> None:
        for line in report.foreign:
            self.stderr.write(f"left alone: {line}")
        for line in report.missing:
            self.stderr.write(f"missing: {line}")
        for line in report.returned:
            self.stderr.write(f"there again, staff may bring it back: {line}")
        self.stdout.write(
            f"{report.files} files: {report.added} rows added, {report.corrected} rows corrected, "
            f"{report.moved} files moved, {len(report.foreign)} left alone, {len(report.missing)} missing, "
            f"{len(report.returned)} there again"
        )
