import io
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.common.correlation import correlated
from config.common.errors import ApplicationError
from sensors.errors import BadLines, LineFault
from sensors.services.file_imports import BAD_LINES_NAMED, check_file, import_file
from sensors.services.imports import ImportReport
from sensors.services.sheets import MOST_ROWS

BAR = 40


class Command(BaseCommand):
    help = (
        "Import sensors from a CSV file of any size, or from XLSX of at most 10 MB and "
        f"{MOST_ROWS:,} rows, all or nothing. The first {BAD_LINES_NAMED} bad lines are named, the others counted. "
        "With --skip-bad the good lines are imported and every bad one is named."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="columns: id, address, notes, active, heartbeat_timeout, clients")
        parser.add_argument("--skip-bad", action="store_true", help="import the good lines, and name the bad ones")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            stream = options["file"].open("rb")
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        try:
            with stream, correlated(), self._end_progress_line():
                report = self._import(stream, dry_run=options["dry_run"], skip_bad=options["skip_bad"])
        except BadLines as error:
            for fault in error.faults:
                self._name(fault)
            raise CommandError(_words(error)) from error
        except ApplicationError as error:
            raise CommandError(_words(error)) from error
        self.stdout.write(f"{report.created} created, {report.changed} changed, {report.unchanged} unchanged")

    def _import(self, stream: io.BufferedReader, *, dry_run: bool, skip_bad: bool) -> ImportReport:
        if dry_run:
            return check_file(stream, checked=self._show_checked)
        return import_file(
            stream,
            actor="command:import_sensors",
            refuse=self._name if skip_bad else None,
            checked=self._show_checked,
            progress=self._show_written,
        )

    def _name(self, fault: LineFault) -> None:
        self.stderr.write(f"line {fault.line}: {fault.field}: {fault.rule}")

    def _show_checked(self, rows: int) -> None:
        """Show the count on a terminal; the total is not known before the last row."""
        self._draw(f"{rows} rows checked")

    def _show_written(self, done: int, total: int) -> None:
        """Draw a progress bar on a terminal."""
        filled = BAR * done // total
        self._draw(f"[{'#' * filled}{'.' * (BAR - filled)}] {done}/{total} rows written")

    def _draw(self, words: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{words}", ending="")
            self._is_drawing = True

    @contextmanager
    def _end_progress_line(self) -> Iterator[None]:
        """End the line of the progress bar before anything else is written, also after an error."""
        self._is_drawing = False
        try:
            yield
        finally:
            if self._is_drawing:
                self.stderr.write("\n", ending="")


def _words(error: ApplicationError) -> str:
    rules = [rule for rules in error.data.get("fields", {}).values() for rule in rules]
    return " ".join([error.message, *rules])
