"""Words that are kept in English with their details apart, so that each reader has them in their own language."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

_NAME = re.compile(r"%\((\w+)\)s")


def render_text(text: str, detail: Mapping[str, Any]) -> str:
    """Translate a text and put the details into it, on one line. Knows no failure: a missing detail is a dash.

    A detail made by `text_within` is itself translated and filled.
    """
    filled = _NAME.sub(lambda found: _value(found[1], detail), gettext(text) if text else "")
    return on_one_line(filled)


def nested_text(text: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    """Make a text with details of its own the detail of another."""
    return {"text": text, "detail": dict(detail)}


def _value(name: str, detail: Mapping[str, Any]) -> str:
    """Return a detail as it is; a reason may be a text of our own, with a translation."""
    value = detail.get(name, "–")
    if _is_text(value):
        return render_text(value["text"], value["detail"])
    value = str(value)
    return gettext(value) if name == "reason" and value else value


def _is_text(value: Any) -> bool:
    is_pair = isinstance(value, dict) and value.keys() == {"text", "detail"}
    return is_pair and isinstance(value["text"], str) and isinstance(value["detail"], dict)


def on_one_line(text: str) -> str:
    """Collapse line breaks and other white space: a title goes into a mail's header and into an SMS."""
    return " ".join(text.split())
