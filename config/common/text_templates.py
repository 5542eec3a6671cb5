"""Texts that are stored in English with their details apart, so that each reader has them in their own language."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

_NAME = re.compile(r"%\((\w+)\)s")


def render_text(text: str, detail: Mapping[str, Any]) -> str:
    """Return a text in the current language with its details filled in, on one line; a missing detail is a dash.

    A detail made by `nested_text` is itself translated and filled in.
    """
    filled = _NAME.sub(lambda found: _value(found[1], detail), gettext(text) if text else "")
    return on_one_line(filled)


def nested_text(text: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    """Make a text with details of its own the detail of another."""
    return {"text": text, "detail": dict(detail)}


def _value(name: str, detail: Mapping[str, Any]) -> str:
    """Return a detail as it is; a reason may be a text of our own, with a translation."""
    value = detail.get(name, "–")
    match value:
        case {"text": str(text), "detail": dict(inner)} if len(value) == 2:
            return render_text(text, inner)
    value = str(value)
    return gettext(value) if name == "reason" and value else value


def on_one_line(text: str) -> str:
    """Collapse line breaks and other white space: a title goes into a mail's header and into an SMS."""
    return " ".join(text.split())
