"""Rows that every database has: the numbered types and statuses, and the one-row states. `migrate` ensures them."""

from typing import Any

from django.apps import AppConfig
from django.core.management import CommandError
from django.db import models, router

from processes.coordination import models as writer
from processes.coordination.models import CoordinatorState, WriterState
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.coordination.reader import models as reader
from processes.coordination.reader.models import ReaderState
from processes.coordination.schema.entities import type_names

NUMBERS: dict[type[models.Model], dict[int, str]] = {
    model: names
    for side in (writer, reader)
    for model, names in (
        (side.AppEventType, type_names()),
        (side.AppEventStatus, {status.value: status.title for status in EventStatus}),
        (side.AppEventPayloadStatus, {status.value: status.title for status in PayloadStatus}),
    )
}
STATES: tuple[type[models.Model], ...] = (WriterState, CoordinatorState, ReaderState)


def ensure_fixed_rows(*, app_config: AppConfig, using: str, **kwargs: Any) -> None:
    for model, names in NUMBERS.items():
        if _is_of(model, app_config, using):
            _require_same(model, names, using)
            model._default_manager.using(using).bulk_create(
                (model(pk=pk, name=name) for pk, name in names.items()),
                update_conflicts=True,
                update_fields=["name"],
                unique_fields=["id"],
            )
    for model in STATES:
        if _is_of(model, app_config, using):
            model._default_manager.using(using).bulk_create([model(pk=1)], ignore_conflicts=True)


def _require_same(model: type[models.Model], names: dict[int, str], using: str) -> None:
    """Stop before a number gets another meaning: rows and messages that are there already carry it."""
    for number, name in model._default_manager.using(using).values_list("pk", "name"):
        if names.get(number, name) != name:
            raise CommandError(
                f"PLUGINS: number {number} of the types of events is {name} and would become {names[number]}. "
                "Put the plugins back in their order, and new ones behind them."
            )


def _is_of(model: type[models.Model], app_config: AppConfig, using: str) -> bool:
    return model._meta.app_label == app_config.label and router.allow_migrate_model(using, model)
