"""Connections of pika that survive properties which pika cannot decode.

A table of headers may hold a time past the year 9999, a number that is none, a type that pika does not know, or a
thousand tables in each other. pika raises inside of its reading of frames then, which ends the connection; the broker
offers the same message to the next one, for ever. Here such a table is left out and the message arrives without it.
"""

import struct
from typing import Any

import structlog
from pika import data, frame, spec
from pika.adapters.select_connection import SelectConnection
from pika.exceptions import InvalidFrameError

UNDECODED = "postern-undecoded"
"""Stands among the headers of a message whose own headers could not be decoded."""

_HEAD = struct.Struct(">BHL")
_CONTENT = struct.Struct(">HHQ")
_FLAGS, _TABLE_SIZE, _TIMESTAMP = struct.Struct(">H"), struct.Struct(">I"), struct.Struct(">Q")
# In the order in which they follow each other in a frame.
_NAMES = (
    "content_type",
    "content_encoding",
    "headers",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
)

log = structlog.get_logger(__name__)


class TolerantConnection(SelectConnection):  # type: ignore[misc]  # pika has no types
    """A connection that no properties of a message can end."""

    def _read_frame(self) -> tuple[int, Any]:
        try:
            read: tuple[int, Any] = super()._read_frame()
            return read
        except Exception as error:
            # A second decoder in the usual way would cost every message; this one is asked only where pika gave up.
            consumed, header = decode_content_header(bytes(self._frame_buffer))
            if header is None:
                raise
            log.warning("amqp.properties_undecoded", error=repr(error)[:200])
            return consumed, header


def decode_content_header(buffer: bytes) -> tuple[int, frame.Header | None]:
    """Decode the content header that a buffer begins with, without what cannot be decoded of it.

    None when it begins with another frame, or with half of one.
    """
    if len(buffer) < _HEAD.size:
        return 0, None
    kind, channel, size = _HEAD.unpack_from(buffer)
    end = _HEAD.size + size + spec.FRAME_END_SIZE
    if kind != spec.FRAME_HEADER or len(buffer) < end or buffer[end - 1] != spec.FRAME_END:
        return 0, None
    content = buffer[_HEAD.size : end - 1]
    if len(content) < _CONTENT.size:
        raise InvalidFrameError("a content header without its size")
    _, _, body_size = _CONTENT.unpack_from(content)
    return end, frame.Header(channel, body_size, decode_properties(content[_CONTENT.size :]))


def decode_properties(encoded: bytes) -> spec.BasicProperties:
    """Decode one property after the other; what follows one that is cut short is left out with it."""
    properties = spec.BasicProperties()
    try:
        flags, offset = _decode_flags(encoded)
        for place, name in enumerate(_NAMES):
            if flags & 1 << (15 - place):
                value, offset = _decode_property(name, encoded, offset)
                setattr(properties, name, value)
    except (struct.error, ValueError) as error:
        log.warning("amqp.properties_cut", error=str(error))
    return properties


def _decode_flags(encoded: bytes) -> tuple[int, int]:
    """Return the first word of flags, which names all properties there are, and where the last word ends."""
    flags, offset = _FLAGS.unpack_from(encoded)[0], _FLAGS.size
    more = flags
    while more & 1:
        more, offset = _FLAGS.unpack_from(encoded, offset)[0], offset + _FLAGS.size
    return flags, offset


def _decode_property(name: str, encoded: bytes, offset: int) -> tuple[Any, int]:
    if name == "headers":
        return _decode_headers(encoded, offset)
    if name in ("delivery_mode", "priority"):
        return encoded[offset : offset + 1][0] if offset < len(encoded) else None, offset + 1
    if name == "timestamp":
        return _TIMESTAMP.unpack_from(encoded, offset)[0], offset + _TIMESTAMP.size
    text: tuple[Any, int] = data.decode_short_string(encoded, offset)
    return text


def _decode_headers(encoded: bytes, offset: int) -> tuple[dict[Any, Any], int]:
    """Decode the table; one that pika cannot decode is skipped by the size it announces."""
    end = offset + _TABLE_SIZE.size + _TABLE_SIZE.unpack_from(encoded, offset)[0]
    try:
        headers, _ = data.decode_table(encoded, offset)
    except Exception as error:  # noqa: BLE001  (times, floats, types and depth all fail in ways of their own)
        return {UNDECODED: type(error).__name__}, end
    return headers, end
