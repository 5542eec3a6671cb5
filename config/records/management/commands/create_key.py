from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.access.keys import create_key
from config.access.scopes import Scope
from config.common.errors import Invalid
from config.records.models import AccessKey

LONGEST_DAYS = 36_500
OWNED = (AccessKey.Kind.CLIENT, AccessKey.Kind.DEVICE, AccessKey.Kind.DATABASE)


class Command(BaseCommand):
    help = "Make a key and print it alone on standard output. It is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="who uses the key and for what")
        parser.add_argument(
            "--scope", action="append", default=[], help=f"one of {', '.join(Scope.values)}; repeatable"
        )
        for kind in OWNED:
            parser.add_argument(f"--{kind}", metavar="ID", help=f"make a key of this {kind} instead")
        parser.add_argument(
            "--expires", metavar="DAYS", type=int, help="days from now; without it the key does not expire"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        subjects = {kind: options[kind] for kind in OWNED if options[kind] is not None}
        if len(subjects) + bool(options["scope"]) != 1:
            raise CommandError("Name exactly one of --scope, --client, --device, --database (--scope may be repeated).")
        kind, subject = next(iter(subjects.items()), (AccessKey.Kind.SERVICE, ""))
        try:
            _key, text = create_key(
                name=options["name"],
                kind=kind,
                subject=subject,
                scopes=options["scope"],
                expires_at=_expiry(options["expires"]),
                actor="command:create_key",
            )
        except Invalid as error:
            rules = error.data["fields"].items()
            raise CommandError("; ".join(f"{field}: {' '.join(texts)}" for field, texts in rules)) from error
        self.stdout.write(text)


def _expiry(days: int | None) -> Any:
    if days is None:
        return None
    if not 1 <= days <= LONGEST_DAYS:
        raise CommandError(f"--expires: must be a whole number of days from 1 to {LONGEST_DAYS}.")
    return timezone.now() + timedelta(days=days)
