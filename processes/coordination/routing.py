"""Which database holds what: a reader's tables are in the readers' databases alone, all others in none of them."""

from typing import Any

from django.conf import settings

READER_APP = "coordination_reader"
PREFIX = "reader_"


def reader_names() -> list[str]:
    """Return the readers that are configured: `main` at least."""
    return sorted(alias.removeprefix(PREFIX) for alias in settings.DATABASES if alias.startswith(PREFIX))


def alias_of(reader: str) -> str:
    return PREFIX + reader


class ReaderRouter:
    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db.startswith(PREFIX) == (app_label == READER_APP)

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool | None:
        return None if (first._meta.app_label == READER_APP) == (second._meta.app_label == READER_APP) else False
