"""A list of the admin as CSV: its columns in words, its times in UTC, however long it is."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import unescape
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import strip_tags
from django.utils.text import capfirst
from django.utils.translation import override

from config.common.times import format_time
from config.common.web.tables import write_csv

if TYPE_CHECKING:
    from config.admin_base.lists import ListAdmin

ROWS_AT_ONCE = 500
CHECKBOX = "action_checkbox"
_TIME = re.compile(r'<time [^>]*datetime="([^"]+)"[^>]*>.*?</time>', re.DOTALL)
_SPACES = re.compile(r"\s+")


def export_list(
    model_admin: "ListAdmin[Any]", request: HttpRequest, chosen: QuerySet[Any], columns: Sequence[Any], *, language: str
) -> Iterator[bytes]:
    """Yield the rows in their order, in pieces: each is a query of its own, so that no cursor waits for a reader."""
    columns = [column for column in columns if column != CHECKBOX]
    with override(language):
        labels = [str(label_for_field(column, model_admin.model, model_admin=model_admin)) for column in columns]
        yield write_csv([[capfirst(label) for label in labels]])
    keys = list(chosen.values_list("pk", flat=True))
    for start in range(0, len(keys), ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        # A piece is read in another turn of the thread, where the language of the call is gone.
        with override(language):
            rows = _read(model_admin, request, piece)
            yield write_csv([_cell(model_admin, row, column) for column in columns] for row in rows)


def _read(model_admin: "ListAdmin[Any]", request: HttpRequest, keys: Sequence[Any]) -> list[Any]:
    """Return the rows of these keys, in their order; what is gone by now is left out."""
    rows = model_admin.get_queryset(request).filter(pk__in=keys)
    if isinstance(model_admin.list_select_related, list | tuple):
        rows = rows.select_related(*model_admin.list_select_related)
    found = {row.pk: row for row in rows}
    ordered = [found[key] for key in keys if key in found]
    model_admin.complete_rows(ordered)
    return ordered


def _cell(model_admin: "ListAdmin[Any]", row: Any, column: Any) -> object:
    try:
        field, _attribute, value = lookup_field(column, row, model_admin)
    except ObjectDoesNotExist:
        return ""
    if field is not None and getattr(field, "flatchoices", None):
        value = dict(field.flatchoices).get(value, value)
    return to_cell(value)


def to_cell(value: Any) -> object:
    """Return what a column shows as the text of a cell; an element of a time becomes the time itself, in UTC."""
    if value is None or value == "–":
        return ""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    if not hasattr(value, "__html__"):
        return str(value)
    text = unescape(strip_tags(_TIME.sub(r"\1", value.__html__()).replace("><", "> <")))
    text = _SPACES.sub(" ", text).strip()
    return "" if text == "–" else text
