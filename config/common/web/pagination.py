"""Lists by keyset: a cursor names the last row seen, so pages cost the same at any depth and inserts shift nothing.

A page is bounded in rows by its caller and in bytes by `PAGE_BYTES`: it ends early where its rows are large, and `next`
leads on behind the last row that it holds.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import islice, repeat
from operator import add
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from django.core.signing import BadSignature, Signer
from django.db import connections, transaction
from django.db.models import BinaryField, Field, JSONField, Model, Q, QuerySet, TextField
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from config.common.errors import Invalid

DEFAULT_LIMIT, LARGEST_LIMIT = 100, 1000
PAGE_BYTES = 4_194_304
"""What the rows of one page weigh at most. A single row is never too heavy: there is no empty page that leads on."""
CHUNK = 20
"""How many rows are in memory beyond a page, where rows may be large."""

RowT = TypeVar("RowT")
AnswerT = TypeVar("AnswerT")
Weigh: TypeAlias = Callable[[Sequence[RowT]], Iterable[int]]
"""How many bytes each of these rows costs; asked for one by one, and not beyond the end of the page."""


_UNBOUNDED = (TextField, JSONField, BinaryField)
# Whatever no JSON can hold, as the bookkeeping of a model, weighs nothing.
_encoder = msgspec.json.Encoder(enc_hook=lambda _: None)


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


def paginate(
    request: Request,
    rows: "QuerySet[Any, RowT]",
    *,
    order: Sequence[str],
    weigh: Weigh[RowT] | None = None,
    weigh_beside: Weigh[RowT] | None = None,
    most_bytes: int = PAGE_BYTES,
) -> Page[RowT]:
    """Read one page in one query, ordered by columns that are never null; the primary key breaks ties.

    Rows may be objects or dictionaries; `values()` must include the columns of the order and the primary key. A row
    weighs what its own columns do, unless `weigh` knows what else is shown with it. `weigh_beside` adds to its columns
    what is shown beside them: it is asked once, about all rows, so that it may cost a query.
    """
    columns = _columns(rows.model, order)
    kind = f"{rows.model._meta.label}:{','.join(order)}"
    limit = read_limit(request)
    seen = read_cursor(request, kind)
    if seen is not None:
        rows = rows.filter(_after(columns, seen))
    names = [f"-{column.name}" if column.descending else column.name for column in columns]
    asked = rows.order_by(*names)[: limit + 1]
    # A few kilobytes a row are read at once, which costs one trip; what has no length of its own is not.
    is_light = weigh is None and (weigh_beside is not None or _has_lengths(rows))
    with nullcontext(asked) if is_light else closing(stream_rows(asked)) as read:
        found, more = collect_page(
            read,
            limit=limit,
            weigh=weigh or (lambda part: map(add, weigh_rows(part), weigh_beside(part) if weigh_beside else repeat(0))),
            most_bytes=most_bytes,
            part_rows=limit + 1 if weigh_beside else CHUNK,
        )
    if not more:
        return Page(found, None)
    return Page(found, next_page_url(request, kind, [column.of(found[-1]) for column in columns]))


def paginate_presented(
    request: Request,
    rows: "QuerySet[Any, RowT]",
    *,
    order: Sequence[str],
    present: Callable[[Sequence[RowT]], Iterable[AnswerT]],
) -> Page[AnswerT]:
    """Read one page of answers that hold more than their rows do: each weighs what it will be in the answer."""
    shown: list[AnswerT] = []

    def weigh(part: Sequence[RowT]) -> Iterator[int]:
        for answer in present(part):
            shown.append(answer)
            yield len(_encoder.encode(answer))

    found = paginate(request, rows, order=order, weigh=weigh, most_bytes=PAGE_BYTES)
    return Page(shown[: len(found.results)], found.next)


def collect_page(
    rows: Iterable[RowT],
    *,
    limit: int,
    weigh: Weigh[RowT],
    most_bytes: int = PAGE_BYTES,
    part_rows: int = CHUNK,
) -> tuple[list[RowT], bool]:
    """Take rows until there are enough or they weigh too much, but at least one; say whether any are left.

    Rows are asked for in small parts, and not beyond the part in which the page ends.
    """
    found: list[RowT] = []
    used = 0
    left = iter(rows)
    while part := list(islice(left, part_rows)):
        for row, weight in zip(part, weigh(part), strict=True):
            used += weight
            if len(found) == limit or (found and used > most_bytes):
                return found, True
            found.append(row)
    return found, False


def stream_rows(rows: "QuerySet[Any, RowT]") -> Generator[RowT, None, None]:
    """Read the rows of a query a part at a time, to be closed where not all are wanted: the others are not sent.

    On PostgreSQL in a transaction: a cursor outside of one is filled with the whole result before its first row.
    """
    connection = connections[rows.db]
    needs_transaction = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic(using=rows.db) if needs_transaction else nullcontext():
        yield from rows.iterator(chunk_size=CHUNK)


def weigh_rows(rows: Sequence[Any]) -> list[int]:
    """Weigh rows by the JSON of their own columns, whatever is shown of them."""
    return [len(_encoder.encode(vars(row) if isinstance(row, Model) else row)) for row in rows]


class RenderedRows(Generic[RowT]):
    """Rows whose answer holds more than the row: it is made once, one after the other, and weighed as it is sent.

    `present` gives the answer of each row, or None where the row is gone.
    """

    def __init__(self, present: Callable[[Sequence[RowT]], Iterable[Any]]) -> None:
        self._present = present
        self._texts: dict[Any, msgspec.Raw] = {}

    def weigh(self, rows: Sequence[RowT]) -> Iterator[int]:
        for row, shown in zip(rows, self._present(rows), strict=True):
            text = b"" if shown is None else _encoder.encode(shown)
            self._texts[getattr(row, "pk")] = msgspec.Raw(text)  # noqa: B009
            yield len(text)

    def results(self, rows: Sequence[RowT]) -> list[msgspec.Raw]:
        """Return the answers of rows that were weighed."""
        texts = (self._texts[getattr(row, "pk")] for row in rows)  # noqa: B009
        return [text for text in texts if bytes(text)]


def _has_lengths(rows: "QuerySet[Any, Any]") -> bool:
    """Return whether every column that is read has a bounded length."""
    fields = [field for field in rows.model._meta.concrete_fields if isinstance(field, _UNBOUNDED)]
    fields = [field for field in fields if field.max_length is None]
    chosen: Sequence[str] | None = rows.query.values_select or None
    if chosen is not None:
        return not any(field.name in chosen or field.attname in chosen for field in fields)
    names, is_deferred = rows.query.deferred_loading
    return all((field.name in names) == is_deferred for field in fields)


def read_limit(request: Request, *, default: int = DEFAULT_LIMIT) -> int:
    text = request.query_params.get("limit")
    if text is None:
        return default
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


def next_page_url(request: Request, kind: str, values: Sequence[Any]) -> str:
    """Return the address of the page after the row with these values."""
    cursor = _signer(kind).sign_object([value if isinstance(value, int) else str(value) for value in values])
    return replace_query_param(request.build_absolute_uri(), "cursor", cursor)


def _signer(kind: str) -> Signer:
    return Signer(salt=f"page:{kind}", sep=".")


def _columns(model: type[Model], order: Sequence[str]) -> list[_Column]:
    key = model._meta.pk
    assert key is not None
    fields = [(_field(model, name), name.startswith("-")) for name in order]
    columns = [_Column(field.name, field, is_descending) for field, is_descending in fields]
    if all(column.field is not key for column in columns):
        columns.append(_Column(key.name, key, columns[-1].descending))
    return columns


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
