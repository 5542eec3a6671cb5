"""The databases of the readers, and Django's router for them: a reader's tables are in those alone, others in none."""

from typing import Any

from django.conf import settings

from config.common.plugins import label_of

READER_APP = "coordination_reader"
PREFIX = "reader_"
PLUGIN_READER = "Reader"
"""The prefix of a plugin's models in the readers' databases."""


def reader_names() -> list[str]:
    """Return the names of the configured readers: `main` at least."""
    return sorted(reader_name(alias) for alias in settings.DATABASES if alias.startswith(PREFIX))


def reader_alias(reader: str) -> str:
    return PREFIX + reader


def reader_name(alias: str) -> str:
    return alias.removeprefix(PREFIX)


def belongs_to_reader(app_label: str, model_name: str) -> bool:
    """Return whether a table is one of a reader's; a plugin has those of both sides in one app."""
    if app_label in map(label_of, settings.PLUGINS):
        return model_name.lower().startswith(PLUGIN_READER.lower())
    return app_label == READER_APP


class ReaderRouter:
    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool:
        return db.startswith(PREFIX) == belongs_to_reader(app_label, model_name or "")

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool | None:
        sides = {belongs_to_reader(each._meta.app_label, each._meta.model_name) for each in (first, second)}
        return None if len(sides) == 1 else False
