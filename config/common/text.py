"""Text from outside, made such that every engine keeps it: PostgreSQL knows no NUL, and no encoding half a character.

One rule for the whole product. What people are told about a failure is cleaned; what a caller wants kept as it is gets
refused (`is_storable`), because a changed value would be a false one.
"""

import re
from typing import Any

import msgspec

REPLACEMENT = "\ufffd"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED_NUL = rb"\u0000"


def clean_text(value: Any, longest: int | None = None) -> str:
    """Return the value as a text that can be stored, with at most so many characters; None is an empty one.

    Bytes are cut to as many bytes before they are decoded, so that a large body costs no more than what is kept of it.
    """
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        value = bytes(value[:longest]).decode("utf-8", "replace")
    text = value if type(value) is str else str(value)
    # Columns count characters. Cut before the search: only what is kept has to be looked at.
    return _UNSTORABLE.sub(REPLACEMENT, text[:longest])


def clean_error(error: BaseException, longest: int) -> str:
    """Return the class and the words of an error as storable text, also where its own `__str__` fails."""
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  (an error of a plug-in may fail in its own __str__)
        words = ""
    return clean_text(f"{type(error).__name__}: {words}" if words else type(error).__name__, longest)


def clean_values(value: Any) -> Any:
    """Clean every text of a JSON value, names included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(name): clean_values(below) for name, below in value.items()}
    return [clean_values(below) for below in value] if isinstance(value, list | tuple) else value


def encode_clean(value: Any) -> str:
    """Encode a value as JSON that every engine keeps; only one that needs it is looked at text by text."""
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a character
        encoded = None
    if encoded is None or has_escaped_nul(encoded):
        encoded = msgspec.json.encode(clean_values(value))
    return encoded.decode()


def is_storable(value: Any) -> bool:
    """Return whether every text of a JSON value, names included, can be stored as it is."""
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    try:
        return not has_escaped_nul(msgspec.json.encode(value))
    except UnicodeEncodeError:  # half of a character
        return False


def has_escaped_nul(encoded: bytes) -> bool:
    """Return whether a string of this JSON text holds NUL; after an escaped backslash `u0000` is an ordinary word."""
    return _ESCAPED_NUL in encoded and _ESCAPED_NUL in encoded.replace(rb"\\", b"")


def cut_bytes(text: str, most: int) -> str:
    """Cut a text to so many bytes of UTF-8, where a protocol counts bytes, and halve no character."""
    return text.encode()[:most].decode(errors="ignore")
