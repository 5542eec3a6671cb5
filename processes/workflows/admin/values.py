"""Variables on pages: shown within limits, edited as JSON by the rules of the REST API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django import forms
from django.utils.translation import gettext

from config.admin_base.json_text import format_json, json_widget, parse_typed_json

MOST_SHOWN = 200
LONGEST_VALUE = 8_192
LONGEST_PAGE = 131_072
LONGEST_EDITED = 131_072


@dataclass(frozen=True)
class ShownValue:
    name: str
    text: str
    is_whole: bool


@dataclass(frozen=True)
class ShownValues:
    rows: list[ShownValue]
    more: int
    """How many do not fit the page."""


def show_values(values: Mapping[str, Any]) -> ShownValues:
    """Return values by name, as many as a page holds."""
    rows, length = list[ShownValue](), 0
    for name in sorted(values)[:MOST_SHOWN]:
        shown = show_value(name, values[name])
        length += len(shown.text)
        if rows and length > LONGEST_PAGE:
            break
        rows.append(shown)
    return ShownValues(rows, more=len(values) - len(rows))


def show_value(name: str, value: Any) -> ShownValue:
    text = format_json(_json(value), longest=4 * LONGEST_VALUE)
    return ShownValue(name, text[:LONGEST_VALUE], is_whole=len(text) <= LONGEST_VALUE)


def editable_text(values: Mapping[str, Any]) -> str:
    """Return values as JSON to be edited; empty where they are too long for a form."""
    text = _json(values)
    return format_json(text, longest=3 * LONGEST_EDITED) if len(text) <= LONGEST_EDITED else ""


def find_changed(before: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was typed differently."""

    def canonical(value: Any) -> str:
        return json.dumps(value, sort_keys=True)  # in Python true equals 1, in JSON it does not

    return {
        name: value
        for name, value in typed.items()
        if name not in before or canonical(before[name]) != canonical(value)
    }


class VariablesField(forms.CharField):
    """A map of names to values as JSON; an empty field is an empty map."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"strip": True, "required": False, "widget": json_widget(rows=10), **options})

    def clean(self, value: Any) -> dict[str, Any]:
        text = super().clean(value)
        if not text:
            return {}
        typed = parse_typed_json(text)
        if not isinstance(typed, dict):
            raise forms.ValidationError(gettext('Must be a JSON object, for example {"amount": 5}.'))
        return typed


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
