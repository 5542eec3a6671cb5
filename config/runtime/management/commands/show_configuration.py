from typing import Any

from django.core.management.base import BaseCommand

from config.environment.document import render_configuration


class Command(BaseCommand):
    help = "Print every variable of the environment, as docs/configuration.md has it."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(render_configuration(), ending="")
