"""JSON on pages: laid out to be read, typed by the rules of REST."""

import re
import unicodedata
from typing import Any

import msgspec
from django import forms
from django.utils.translation import gettext
from unfold.widgets import UnfoldAdminTextareaWidget

from config.common.web.json_codec import BadJson, decode_json

_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")


def format_json(body: str, *, longest: int) -> str:
    """Return JSON text indented, unless that makes it too long, with invisible characters as escapes.

    It means the same: outside of its strings JSON has none of these characters.
    """
    try:
        indented = msgspec.json.format(body, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        indented = body
    return make_visible(indented if len(indented) <= longest else body)


def make_visible(text: str) -> str:
    """Write invisible characters as escapes."""
    return _UNUSUAL.sub(_letter, text)


def parse_typed_json(text: str) -> Any:
    """Decode JSON from a form field; a `ValidationError` names line and column of what is wrong."""
    try:
        return decode_json(text.encode())
    except (BadJson, UnicodeEncodeError) as error:
        raise forms.ValidationError(_explain(error)) from error


def json_widget(rows: int) -> UnfoldAdminTextareaWidget:
    return UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false", "class": "pst-json"})


def _letter(unusual: re.Match[str]) -> str:
    """Write what is invisible, or turns the direction of what follows, by its number, as JSON may."""
    letter = unusual[0]
    if unicodedata.category(letter)[0] not in "CZ":
        return letter
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def _explain(error: Exception) -> str:
    if not isinstance(error, BadJson):
        return gettext("The JSON contains a string that is not UTF-8.")
    if "line" not in error.data:
        return error.message
    return gettext("Line %(line)s, column %(column)s: %(message)s") % {**error.data, "message": error.message}
