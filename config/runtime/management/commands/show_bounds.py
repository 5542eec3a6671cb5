from typing import Any

from django.core.management.base import BaseCommand

from config.runtime.bounds import render


class Command(BaseCommand):
    help = "Print every bound that a caller meets, as docs/bounds.md has it."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(render(), ending="")
