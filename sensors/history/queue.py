"""The internal queue that carries committed batches of signals to the writers of history."""

import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from config.common.text import clean_text
from sensors.ingest.signals import Code, Rejection, Signal

QUEUE = "signals.history"
COMPRESSED = b"\x78"

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Signal])
_packed_decoder = msgspec.msgpack.Decoder(list[bytes])


class BadBatch(ValueError):
    """The bytes are no batch of signals."""


def encode_batch(signals: Sequence[Signal]) -> bytes:
    return _encoder.encode(list(signals))


def decode_batch(body: bytes) -> list[Signal]:
    """Return the signals that `encode_batch` encoded; raise `BadBatch` for anything else."""
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBatch(str(error)) from error


def pack_bodies(bodies: Sequence[bytes]) -> bytes:
    """Return messages of the queue, whatever is in them, as one value for the spool."""
    return zlib.compress(_encoder.encode(list(bodies)))


def unpack_bodies(packed: bytes) -> list[bytes]:
    """Return the messages of a row of the spool: several that were packed, or one as it is."""
    # A compressed value begins with a byte that no list of msgpack begins with.
    if packed[:1] != COMPRESSED:
        return [packed]
    try:
        return _packed_decoder.decode(zlib.decompress(packed))
    except (zlib.error, msgspec.MsgspecError):
        return [packed]


def unreadable_batch(body: bytes, error: BadBatch) -> Rejection:
    """Return a message that is no batch as a rejection, to be recorded as such: it must not stop the queue."""
    message = clean_text(f"no batch of signals: {error}", 300)
    return Rejection(0, Code.BAD_SHAPE, message, "", clean_text(body, 1024))


def declare_history_queue(channel: Any, name: str = QUEUE) -> None:
    """Declare the queue of history."""
    # Lazy, because it grows while ClickHouse is away (`overflow.py`), and must not fill the memory of the broker.
    channel.queue_declare(name, durable=True, arguments={"x-queue-mode": "lazy"})
