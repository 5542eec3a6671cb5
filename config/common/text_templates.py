"""Texts that are stored in English with their details apart, so that each reader has them in their own language."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext

from config.common.actors import say_actor
from config.common.earlier_texts import TODAY

_NAME = re.compile(r"%\((\w+)\)s")
_details: dict[str, Callable[[str], str]] = {}


def render_text(text: str, detail: Mapping[str, Any]) -> str:
    """Return a text in the current language with its details filled in, on one line; a missing detail is a dash.

    A detail made by `nested_text` is itself translated and filled in.
    """
    filled = _NAME.sub(lambda found: _value(found[1], detail), _translate(text))
    return on_one_line(filled)


def register_detail(name: str, translate: Callable[[str], str]) -> None:
    """Have the details of this name translated: an app knows the texts that it puts there, and leaves others alone."""
    _details[name] = translate


def is_translated(name: str) -> bool:
    """Return whether a detail of this name may be a text of our own."""
    return name in _details


def nested_text(text: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    """Make a text with details of its own the detail of another."""
    return {"text": text, "detail": dict(detail)}


def _value(name: str, detail: Mapping[str, Any]) -> str:
    """Return a detail as it is; a reason may be a text of our own, with a translation."""
    value = detail.get(name, "–")
    match value:
        case {"text": str(text), "detail": dict(inner)} if len(value) == 2:
            return render_text(text, inner)
    return _details.get(name, str)(str(value))


def _translate(text: str) -> str:
    """Return a stored text in the current language, as it is said today."""
    return gettext(TODAY.get(text, text)) if text else ""


def on_one_line(text: str) -> str:
    """Collapse line breaks and other white space: a title goes into a mail's header and into an SMS."""
    return " ".join(text.split())


register_detail("reason", _translate)
register_detail("actor", say_actor)
register_detail("by", say_actor)
