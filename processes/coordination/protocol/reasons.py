"""Reasons: why a reader refuses, why an event was cancelled, why its compensation fails.

A reason is stored and sent as a source text of `gettext` with its details, so that everybody reads it in their own
language; the words of a database about a broken constraint are stored as they are.
"""

from typing import Any

import msgspec
from django.utils import translation

from config.common.text_templates import nested_text, render_text

LONGEST = 500
"""The length of the columns."""


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    detail: dict[str, Any]


_decoder = msgspec.json.Decoder(_Text)


def encode_reason(text: str, **detail: Any) -> str:
    """Return a reason made of a source text and its details; one too long for its column is stored in English."""
    written = msgspec.json.encode(nested_text(text, detail)).decode()
    return written if len(written) <= LONGEST else format_reason_in_english(written)[:LONGEST]


def decode_reason(reason: str) -> Any:
    """Return a reason in the form that it has as a detail of another text (`config.common.text_templates`)."""
    try:
        return msgspec.to_builtins(_decoder.decode(reason))
    except msgspec.DecodeError:
        return reason


def format_reason(reason: str) -> str:
    """Return a reason in the language of the request."""
    return render_text("%(why)s", {"why": decode_reason(reason)})


def format_reason_in_english(reason: str) -> str:
    """Return a reason as events carry it to programs."""
    with translation.override("en"):
        return format_reason(reason)
