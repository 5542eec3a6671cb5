"""The internal queue that carries committed batches of signals to the writers of history."""

from collections.abc import Sequence
from typing import Any

import msgspec

from config.common.text import clean_text
from sensors.ingest.signals import Code, Rejection, Signal

QUEUE = "signals.history"

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Signal])


class BadBatch(ValueError):
    """The bytes are no batch of signals."""


def encode_batch(signals: Sequence[Signal]) -> bytes:
    return _encoder.encode(list(signals))


def decode_batch(body: bytes) -> list[Signal]:
    """Read what `encode_batch` wrote; anything else is a `BadBatch`."""
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBatch(str(error)) from error


def unreadable_batch(body: bytes, error: BadBatch) -> Rejection:
    """Say what was found instead of a batch, so that it can be kept as rejected and stops nobody."""
    message = clean_text(f"no batch of signals: {error}", 300)
    return Rejection(0, Code.BAD_SHAPE, message, "", clean_text(body, 1024))


def declare_history_queue(channel: Any, name: str = QUEUE) -> None:
    """Declare the queue; lazy, because it grows for as long as ClickHouse is away and must not fill the memory."""
    channel.queue_declare(name, durable=True, arguments={"x-queue-mode": "lazy"})
