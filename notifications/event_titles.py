"""What the types of events and messages are called on pages: each app registers the words for its own.

The type stays the name that programs know, shown as a hint; the payload decides where one type says several things.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, TextField, When
from django.db.models.fields.json import KT
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class EventTitle:
    words: Promise
    key: str = ""
    """The key of the payload whose value decides what an event is called; empty if its type says all."""
    by_value: Mapping[str, Promise] = field(default_factory=dict)


_titles: dict[str, EventTitle] = {}


def register_event_titles(titles: Mapping[str, EventTitle | Promise]) -> None:
    for type, title in titles.items():
        _titles[type] = title if isinstance(title, EventTitle) else EventTitle(title)


def event_title(type: str, payload: Payload | None = None) -> str:
    """Return an event or a message in words; a type that nobody has registered stands for itself."""
    title = _titles.get(type)
    return type if title is None else _choose(title, (payload or {}).get(title.key))


def event_title_html(type: str, payload: Payload | None = None) -> SafeString:
    """Return the same with the type as a hint."""
    return _with_hint(type, event_title(type, payload))


def row_title(row: Any, column: str) -> str:
    """Return the title of a row by what has been read of it: lists read `title_value` and leave the payload alone."""
    title, read = _titles.get(row.type), vars(row)
    if title is None:
        return str(row.type)
    return _choose(title, read["title_value"] if "title_value" in read else (read.get(column) or {}).get(title.key))


def row_title_html(row: Any, column: str) -> SafeString:
    return _with_hint(row.type, row_title(row, column))


def title_value(column: str) -> Case:
    """Return the expression that reads of a payload what its title needs: only for types that need it.

    Payloads may be of any length, and the database unpacks one whole to read a key of it; these types have short ones.
    """
    needed = [
        When(type=type, then=KT(f"{column}__{title.key}")) for type, title in sorted(_titles.items()) if title.key
    ]
    return Case(*needed, default=None, output_field=TextField())


def known_types() -> list[tuple[str, str]]:
    """Return every registered type with its words, for a filter."""
    return sorted(((type, str(title.words)) for type, title in _titles.items()), key=lambda choice: choice[1])


def _choose(title: EventTitle, value: Any) -> str:
    """Return the words for a value, which some databases read out of the JSON as text."""
    return str(title.by_value.get(str(value), title.words))


def _with_hint(type: str, words: str) -> SafeString:
    return format_html('<span title="{}">{}</span>', type, words)
