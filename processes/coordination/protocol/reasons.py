"""Why a reader refuses, why an event was cancelled, what stands in the way of taking it back.

A reason is kept and told as a text with its details, so that everybody reads it in their own language; what a database
says of a broken constraint is kept as it is.
"""

from typing import Any

import msgspec
from django.utils import translation

from config.common.text_templates import nested_text, render_text

LONGEST = 500
"""So long are the columns."""


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    detail: dict[str, Any]


_decoder = msgspec.json.Decoder(_Text)


def encode_reason(text: str, **detail: Any) -> str:
    """Make a reason of a text of ours; one that is too long for its column is kept as a reader of English has it."""
    written = msgspec.json.encode(nested_text(text, detail)).decode()
    return written if len(written) <= LONGEST else format_reason_in_english(written)[:LONGEST]


def decode_reason(reason: str) -> Any:
    """Return a reason as the detail of another text (`config.common.text_templates`)."""
    try:
        return msgspec.to_builtins(_decoder.decode(reason))
    except msgspec.DecodeError:
        return reason


def format_reason(reason: str) -> str:
    """Put a reason into the language of whoever reads it."""
    return render_text("%(why)s", {"why": decode_reason(reason)})


def format_reason_in_english(reason: str) -> str:
    """Put a reason as programs are told it."""
    with translation.override("en"):
        return format_reason(reason)
