"""Several short lists by one statement: a page that shows a dozen of them waits for the database once."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import BooleanField, DateTimeField, Field, JSONField, QuerySet, UUIDField

from config.common.database.sql import as_utc

Row: TypeAlias = dict[str, Any]
Questions: TypeAlias = Mapping[str, "QuerySet[Any, Any]"]
"""Queries of `values()`, each with a limit, by the names of their lists."""
Lists: TypeAlias = Mapping[str, list[Row]]
Convert: TypeAlias = Callable[[Any], Any]


def read_lists(questions: Questions) -> dict[str, list[Row]]:
    """Return the rows of each query, in its order, as `values()` gives them."""
    found: dict[str, list[Row]] = {name: [] for name in questions}
    parts, values, converts = list[str](), list[Any](), dict[str, dict[str, Convert]]()
    for name, rows in questions.items():
        compiler = rows.query.get_compiler(DEFAULT_DB_ALIAS)
        try:
            sql, parameters = compiler.as_sql()
        except EmptyResultSet:
            continue
        fields = {str(alias): expression.output_field for expression, _, alias in compiler.select}
        parts.append(_list_sql(sql, list(fields), number=len(parts)))
        values += parameters
        converts[name] = {alias: convert for alias, field in fields.items() if (convert := _find_convert(field))}
    if not parts:
        return found
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", values)  # noqa: S608 (Django's own statements, values apart)
        texts = cursor.fetchone()
    for (name, convert_by_name), text in zip(converts.items(), texts, strict=True):
        found[name] = [_convert(row, convert_by_name) for row in msgspec.json.decode(text or "[]")]
    return found


def _list_sql(sql: str, names: list[str], *, number: int) -> str:
    """Return an expression for the rows of a query as the text of a JSON list."""
    if connection.vendor == "postgresql":
        return f"(SELECT json_agg(part_{number})::text FROM ({sql}) AS part_{number})"  # noqa: S608
    cells = ", ".join(f"'{name}', part_{number}.\"{name}\"" for name in names)
    return f"(SELECT json_group_array(json_object({cells})) FROM ({sql}) AS part_{number})"  # noqa: S608


def _find_convert(field: "Field[Any, Any]") -> Convert | None:
    """Return how JSON's value of a field becomes the model's; None where it is the same."""
    if isinstance(field, DateTimeField):
        return lambda text: as_utc(datetime.fromisoformat(text))
    if isinstance(field, UUIDField):
        return UUID
    if isinstance(field, BooleanField):
        return bool
    if isinstance(field, JSONField) and connection.vendor == "sqlite":
        return msgspec.json.decode
    return None


def _convert(row: Row, converts: Mapping[str, Convert]) -> Row:
    for name, convert in converts.items():
        if row[name] is not None:
            row[name] = convert(row[name])
    return row
