"""Hostile AMQP messages: properties as raw bytes that clients cannot decode, and bodies that break JSON readers."""

import struct
from typing import Any

from pika.spec import BasicProperties

ORDER = {
    "content_type": 15,
    "content_encoding": 14,
    "headers": 13,
    "delivery_mode": 12,
    "priority": 11,
    "correlation_id": 10,
    "reply_to": 9,
    "expiration": 8,
    "message_id": 7,
    "timestamp": 6,
    "type": 5,
    "user_id": 4,
    "app_id": 3,
    "cluster_id": 2,
}
# The broker itself looks at `user_id` and `expiration`, and lets nothing odd in there.
NAMES_OF_TEXTS = (
    "content_type",
    "content_encoding",
    "correlation_id",
    "reply_to",
    "message_id",
    "type",
    "app_id",
    "cluster_id",
)
TEXTS = {
    "binary": b"\xff\xfe\x80\x01",
    "nul": b"a\x00b",
    "half": b"\xed\xa0\x80",
    "long": b"x" * 255,
    "long_binary": b"\xff" * 255,
    "newlines": b"\r\n\x1b[0m",
}


class RawProperties(BasicProperties):  # type: ignore[misc]  # pika has no types
    """Properties that go out as the bytes they were given as."""

    def __init__(self, encoded: bytes) -> None:
        super().__init__()
        self._encoded = encoded

    def encode(self) -> list[bytes]:
        return [self._encoded]


def encode_properties(**values: Any) -> bytes:
    """Encode properties without a look at what they are."""
    flags, pieces = 0, []
    for name, bit in ORDER.items():
        if name not in values:
            continue
        flags |= 1 << bit
        value = values[name]
        if name == "headers":
            pieces.append(value)
        elif name == "timestamp":
            pieces.append(struct.pack(">Q", value))
        elif name in ("delivery_mode", "priority"):
            pieces.append(struct.pack("B", value))
        else:
            pieces.append(struct.pack("B", len(value)) + value)
    return struct.pack(">H", flags) + b"".join(pieces)


def header_table(kind: bytes, value: bytes, name: bytes = b"h") -> bytes:
    entry = struct.pack("B", len(name)) + name + kind + value
    return struct.pack(">I", len(entry)) + entry


def nested(depth: int) -> bytes:
    """A header of arrays in each other."""
    value = b""
    for _ in range(depth):
        value = b"A" + struct.pack(">I", len(value)) + value
    return header_table(value[:1], value[1:])


def _headers() -> dict[str, bytes]:
    return {
        "milliseconds": header_table(b"T", struct.pack(">Q", 1_800_000_000_000)),
        "last_time": header_table(b"T", b"\xff" * 8),
        "array_of_times": header_table(b"A", struct.pack(">I", 9) + b"T" + b"\xff" * 8),
        "deep": nested(20_000),
        "binary_name": header_table(b"S", struct.pack(">I", 2) + b"\xff\x00", b"\xff\x00"),
        "bytes": header_table(b"x", struct.pack(">I", 3) + b"\xff\x00\x80"),
        "decimal": header_table(b"D", struct.pack(">Bi", 255, -(2**31))),
        "huge_float": header_table(b"d", struct.pack(">d", 1.7e308)),
        "nothing": header_table(b"V", b""),
    }


PROPERTIES: dict[str, bytes] = {
    **{f"{name}:{kind}": encode_properties(**{name: text}) for name in NAMES_OF_TEXTS for kind, text in TEXTS.items()},
    **{f"timestamp:{at}": encode_properties(timestamp=at) for at in (0, 1_800_000_000_000, 2**63, 2**64 - 1)},
    **{
        f"headers:{name}": encode_properties(headers=table, message_id=name.encode())
        for name, table in _headers().items()
    },
    "mode": encode_properties(delivery_mode=2, priority=255),
}
"""What the broker passes on, by a name that says what is odd about it."""

BODIES: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\x00",
    "no_text": b"\xff\xfe\x00\x80",
    "deep_lists": b"[" * 100_000,
    "deep_objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "huge_number": b'{"sensor_id":"0xA","data":' + b"9" * 5000 + b"}",
    "huge_exponent": b'[{"sensor_id":"0xA","data":1e999999}]',
    "not_a_number": b'{"sensor_id":"0xA","data":NaN}',
    "lone_surrogate": b'{"sensor_id":"0xA","data":1,"id":"\\ud800","type":"custom.x","record":"\\udfff"}',
    "nul_in_texts": b'{"sensor_id":"0\\u0000A","data":1,"id":"\\u0000","type":"custom.\\u0000"}',
    "last_year": b'{"sensor_id":"0xA","data":1,"at":"9999-12-31T23:59:59.999999-14:00"}',
    "first_year": b'{"sensor_id":"0xA","data":1,"at":"0001-01-01T00:00:00+14:00"}',
    "wrong_types": b'{"sensor_id":[],"data":{},"at":0,"id":1.5,"type":{},"record":[],"payload":0}',
    "mixed": b'[1,null,"a",[],{},{"sensor_id":null},{"sensor_id":"0xA","data":2}]',
    "large": b'"' + b"x" * 1_200_000 + b'"',
    "msgpack_bomb": b"\xdd\xff\xff\xff\xff",
    "msgpack_deep": b"\x91" * 50_000,
}
