"""Make the models of an entity from its declaration: its own table, and those of commit and rollback rows."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from django.db import models

from processes.coordination.schema.entities import BY_NAME, Entity, Values
from processes.coordination.schema.routing import PLUGIN_READER, READER_APP

RowModel: TypeAlias = Any
"""A model class that is made at run time, with columns that no type checker knows."""


WRITERS_REGISTRY = {"Sensor": "sensors.Sensor", "Client": "sensors.Client"}
"""On the Writer the tables of these entities are the registry itself."""


def make_entity_table(
    entity: Entity, *, app_label: str, module: str, key: "models.Field[Any, Any]", **extra: "models.Field[Any, Any]"
) -> RowModel:
    """Return the model of an entity; a column that refers to another entity is a foreign key."""
    fields: dict[str, Any] = {"id": key}
    for column in entity.columns:
        if column.refers:
            fields[column.name] = models.ForeignKey(
                _referred(column.refers, app_label),
                null=column.is_optional,
                on_delete=models.PROTECT,
                db_column=column.attribute,
                related_name="+",
            )
        else:
            fields[column.name] = column.make(null=column.is_optional)
    return _model(entity.name, entity, app_label, module, fields | extra)


def make_change_table(
    entity: Entity, verb: str, *, app_label: str, module: str, **extra: "models.Field[Any, Any]"
) -> RowModel:
    """Return the model of commit or rollback rows: one per event and row, with null in all columns of a deleted row."""
    name = f"AppEvent{verb}For{entity.name}"
    fields: dict[str, Any] = {
        "number": models.BigAutoField(primary_key=True),
        "app_event": models.ForeignKey(f"{app_label}.AppEvent", on_delete=models.CASCADE, related_name="+"),
        "entity_id": entity.key(db_column="id"),
    }
    fields |= {column.attribute: column.make(null=True) for column in entity.columns}
    once = models.UniqueConstraint(
        name=f"{app_label.rpartition('_')[2]}_{verb}_{entity.name}_once".lower(), fields=["app_event", "entity_id"]
    )
    return _model(name, entity, app_label, module, fields | extra, constraints=[once])


def _referred(name: str, app_label: str) -> str:
    """Return the label of the table that a column refers to, on the same side."""
    if name in WRITERS_REGISTRY and app_label != READER_APP:
        return WRITERS_REGISTRY[name]
    return ".".join(_placed(name, BY_NAME[name], app_label))


def _placed(name: str, entity: Entity, app_label: str) -> tuple[str, str]:
    """Return the app and the name of a model: a plugin has those of both sides in its one app."""
    if not entity.app:
        return app_label, name
    return entity.app, PLUGIN_READER + name if app_label == READER_APP else name


def _model(name: str, entity: Entity, app_label: str, module: str, fields: dict[str, Any], **options: Any) -> RowModel:
    app_label, name = _placed(name, entity, app_label)
    meta = type("Meta", (), {"app_label": app_label, **options})
    return type(name, (models.Model,), {"__module__": module, "Meta": meta, **fields})


def attribute_values(entity: Entity, values: Values | None) -> dict[str, Any]:
    """Return the values of a row by the attributes of its model; of a deleted row each is None."""
    return {column.attribute: None if values is None else values[column.name] for column in entity.columns}


def attribute_columns(entity: Entity, rows: Sequence[Values | None]) -> dict[str, list[Any]]:
    """Return the values of many rows, column by column, by the attributes of their model."""
    return {
        column.attribute: [None if values is None else values[column.name] for values in rows]
        for column in entity.columns
    }


def read_values(entity: Entity, row: models.Model) -> Values | None:
    """Return the values of a row of any of these tables; None for a commit or rollback row of a deleted row."""
    values = {column.name: getattr(row, column.attribute) for column in entity.columns}
    return values if any(value is not None for value in values.values()) else None
