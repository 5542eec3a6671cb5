"""Bulk insert by one statement, column by column: a model instance for each row would cost more than the row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from django.db import DEFAULT_DB_ALIAS, connections, models

from config.common.database.sql import postgresql_cursor

Field: TypeAlias = "models.Field[Any, Any]"
COLUMN_TYPES = {
    "BigAutoField": "bigint",
    "BigIntegerField": "bigint",
    "BooleanField": "boolean",
    "CharField": "text",
    "DateField": "date",
    "DateTimeField": "timestamptz",
    "FloatField": "float8",
    "IntegerField": "bigint",
    "JSONField": "jsonb",
    "TextField": "text",
    "UUIDField": "uuid",
}
"""The array types of the parameters; PostgreSQL casts to the column's own type, and refuses what does not fit."""


def insert_rows(
    model: Any,
    columns: Mapping[str, Sequence[Any]],
    *,
    same: Mapping[str, Any] | None = None,
    alias: str = DEFAULT_DB_ALIAS,
    unless_there: bool = False,
    update: tuple[str, ...] = (),
) -> list[Any]:
    """Insert a row for each place of the columns; return the keys that the database gives them, in that order.

    `same` are values that all rows share; other columns have their defaults. A row that is there already is left as it
    is (`unless_there`), or takes over the columns that `update` names.
    """
    if not next(iter(columns.values())):
        return []
    same = same or {}
    form = _form(model, tuple(columns), tuple(same), unless_there, update)
    insert = _insert_at_once if connections[alias].vendor == "postgresql" else _insert_as_json
    return insert(form, list(columns.values()), [*same.values(), *form.defaults], alias)


@dataclass(frozen=True)
class _Form:
    """A statement for each engine; its parameters are columns, then values that all rows share."""

    fields: list[Field]
    defaults: list[Any]
    postgresql: str
    sqlite: str


def _insert_at_once(form: _Form, columns: list[Sequence[Any]], shared: list[Any], alias: str) -> list[Any]:
    parameters: list[Any] = [*columns, *shared]
    for place, field in enumerate(form.fields):
        if isinstance(field, models.JSONField):
            parameters[place] = _encoded(parameters[place], is_column=place < len(columns))
    with postgresql_cursor(alias=alias) as cursor:
        cursor.execute(form.postgresql, parameters, prepare=True)
        return [key for (key,) in cursor.fetchall()]


def _insert_as_json(form: _Form, columns: list[Sequence[Any]], shared: list[Any], alias: str) -> list[Any]:
    """SQLite has no arrays; it reads JSON, and limits the number of parameters."""
    connection = connections[alias]
    cells = [
        [field.get_db_prep_save(value, connection) for value in column]
        for field, column in zip(form.fields, columns, strict=False)
    ]
    own = zip(form.fields[len(columns) :], shared, strict=True)
    parameters = [field.get_db_prep_save(value, connection) for field, value in own]
    with connection.cursor() as cursor:
        cursor.execute(form.sqlite, [*parameters, msgspec.json.encode(list(zip(*cells, strict=True))).decode()])
        return sorted(key for (key,) in cursor.fetchall())  # it returns them in any order


def _encoded(value: Any, *, is_column: bool) -> Any:
    if is_column:
        return [_encoded(each, is_column=False) for each in value]
    return None if value is None else msgspec.json.encode(value).decode()


@lru_cache(maxsize=200)
def _form(
    model: Any, columns: tuple[str, ...], same: tuple[str, ...], unless_there: bool, update: tuple[str, ...]
) -> _Form:
    by_name: dict[str, Field] = {field.attname: field for field in model._meta.concrete_fields}
    rest = [
        name
        for name, field in by_name.items()
        if name not in columns and name not in same and not isinstance(field, models.AutoField)
    ]
    fields = [by_name[name] for name in (*columns, *same, *rest)]
    names = ", ".join(f'"{field.column}"' for field in fields)
    begins = f'INSERT INTO "{model._meta.db_table}" ({names})'
    ends = f'{_conflict(by_name, unless_there, update)} RETURNING "{model._meta.pk.column}"'
    arrays = ", ".join(f"%b::{_kind(field)}[]" for field in fields[: len(columns)])
    selected = ", ".join(["source.*", *(f"%b::{_kind(field)}" for field in fields[len(columns) :])])
    cells = [f"json_extract(value, '$[{place}]')" for place in range(len(columns))]
    cells += ["%s"] * (len(fields) - len(columns))
    return _Form(
        fields,
        [by_name[name].get_default() for name in rest],
        # Parameters go by their places: the arrays come first.
        postgresql=f"WITH source AS (SELECT * FROM unnest({arrays})) {begins} SELECT {selected} FROM source {ends}",
        # Without a condition it would take what follows for one of a join.
        sqlite=f"{begins} SELECT {', '.join(cells)} FROM json_each(%s) WHERE true {ends}",
    )


def _conflict(by_name: dict[str, Field], unless_there: bool, update: tuple[str, ...]) -> str:
    if not update:
        return "ON CONFLICT DO NOTHING" if unless_there else ""
    changes = (f'"{by_name[name].column}" = excluded."{by_name[name].column}"' for name in update)
    return f"ON CONFLICT (id) DO UPDATE SET {', '.join(changes)}"


def _kind(field: Field) -> str:
    target = field.target_field if isinstance(field, models.ForeignKey) else field
    return COLUMN_TYPES[target.get_internal_type()]
