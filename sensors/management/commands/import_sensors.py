import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.common.correlation import correlated
from config.common.errors import ApplicationError
from sensors.errors import BadLines
from sensors.services.imports import import_sensors, plan_import

BAR = 40


class Command(BaseCommand):
    help = "Import sensors from a CSV or XLSX file, all or nothing. Every bad line is named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="columns: id, address, notes, active, heartbeat_timeout, clients")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            content = options["file"].read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        try:
            with correlated():
                report = self._import(content, dry_run=options["dry_run"])
        except BadLines as error:
            for fault in error.faults:
                self.stderr.write(f"line {fault.line}: {fault.field}: {fault.rule}")
            raise CommandError(error.message) from error
        except ApplicationError as error:
            rules = [rule for rules in error.data.get("fields", {}).values() for rule in rules]
            raise CommandError(" ".join([error.message, *rules])) from error
        self.stdout.write(f"{report.created} created, {report.changed} changed, {report.unchanged} unchanged")

    def _import(self, content: bytes, *, dry_run: bool) -> Any:
        if not dry_run:
            return import_sensors(content=content, actor="command:import_sensors", progress=self._show)
        plan = plan_import(content)
        if plan.faults:
            raise BadLines(plan.faults)
        return plan.report()

    def _show(self, done: int, total: int) -> None:
        """Draw a bar where somebody watches."""
        if sys.stderr.isatty():
            filled = BAR * done // total
            self.stderr.write(f"\r[{'#' * filled}{'.' * (BAR - filled)}] {done}/{total}", ending="")
            self.stderr.write("\n" if done == total else "", ending="")
