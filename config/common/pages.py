"""Lists by keyset: a cursor names the last row seen, so pages cost the same at any depth and inserts shift nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Field, Model, Q, QuerySet
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from config.common.errors import Invalid

DEFAULT_LIMIT, LARGEST_LIMIT = 100, 1000

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Page(Generic[RowT]):
    results: list[RowT]
    next: str | None


@dataclass(frozen=True)
class _Column:
    name: str
    field: "Field[Any, Any]"
    descending: bool

    def after(self, value: Any) -> Q:
        return Q(**{f"{self.name}__{'lt' if self.descending else 'gt'}": value})

    def from_here(self, value: Any) -> Q:
        return Q(**{f"{self.name}__{'lte' if self.descending else 'gte'}": value})

    def of(self, row: Any) -> Any:
        return row[self.name] if isinstance(row, dict) else getattr(row, self.field.attname)


def page(request: Request, rows: "QuerySet[Any, RowT]", *, order: Sequence[str]) -> Page[RowT]:
    """Read one page in one query, ordered by columns that are never null; the primary key breaks ties.

    Rows may be objects or dictionaries; `values()` must include the columns of the order and the primary key.
    """
    columns = _columns(rows.model, order)
    kind = f"{rows.model._meta.label}:{','.join(order)}"
    limit = read_limit(request)
    seen = read_cursor(request, kind)
    if seen is not None:
        rows = rows.filter(_after(columns, seen))
    names = [f"-{column.name}" if column.descending else column.name for column in columns]
    found = list(rows.order_by(*names)[: limit + 1])
    if len(found) <= limit:
        return Page(found, None)
    last = [column.of(found[limit - 1]) for column in columns]
    return Page(found[:limit], next_address(request, kind, last))


def read_limit(request: Request) -> int:
    text = request.query_params.get("limit")
    if text is None:
        return DEFAULT_LIMIT
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= LARGEST_LIMIT:
        raise Invalid({"limit": [gettext("Must be a whole number from 1 to 1000.")]})
    return int(text)


def read_cursor(request: Request, kind: str) -> list[Any] | None:
    """Return the values that `next_address` put into the cursor of the same kind of list."""
    text = request.query_params.get("cursor")
    if text is None:
        return None
    try:
        values: list[Any] = _signer(kind).unsign_object(text)
    except BadSignature as error:
        raise Invalid({"cursor": [gettext("Must be taken from the `next` of an earlier page.")]}) from error
    return values


def next_address(request: Request, kind: str, values: Sequence[Any]) -> str:
    """Return the address of the page after the row with these values."""
    cursor = _signer(kind).sign_object([value if isinstance(value, int) else str(value) for value in values])
    return replace_query_param(request.build_absolute_uri(), "cursor", cursor)


def _signer(kind: str) -> Signer:
    return Signer(salt=f"page:{kind}", sep=".")


def _columns(model: type[Model], order: Sequence[str]) -> list[_Column]:
    key = model._meta.pk
    assert key is not None
    columns = [_Column(_name(model, name), _field(model, name), name.startswith("-")) for name in order]
    if all(column.field is not key for column in columns):
        columns.append(_Column(key.name, key, columns[-1].descending))
    return columns


def _name(model: type[Model], name: str) -> str:
    return _field(model, name).name


def _field(model: type[Model], name: str) -> "Field[Any, Any]":
    bare = name.removeprefix("-")
    field = model._meta.pk if bare == "pk" else model._meta.get_field(bare)
    if not isinstance(field, Field) or field.null:
        raise TypeError(f"{model._meta.label} cannot be paged by {bare}: it is no column, or may be null")
    return field


def _after(columns: Sequence[_Column], seen: Sequence[Any]) -> Q:
    """Select the rows behind the last one seen; the first condition is implied, and lets an index find the start."""
    condition = columns[0].from_here(seen[0])
    behind = Q()
    equal = Q()
    for column, value in zip(columns, seen, strict=True):
        value = column.field.to_python(value)
        behind |= equal & column.after(value)
        equal &= Q(**{column.name: value})
    return condition & behind
